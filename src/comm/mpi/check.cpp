#include "check.h"

#include <mpi.h>

#include <array>
#include <string>
#include <string_view>

#include <lockstep/base/errors.h>

namespace lockstep::comm::mpi {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string_view function(call, std::string_view(call).find('('));
  throw RuntimeError({.message = std::string(function) + " failed",
                      .found = length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                                          : "error " + std::to_string(code)});
}

}  // namespace lockstep::comm::mpi

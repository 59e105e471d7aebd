#pragma once
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include <lockstep/base/errors.h>

namespace lockstep {

// As gethostname tells it.
inline std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) throw system_error("cannot read this host's name", errno);
  return name.data();
}

}  // namespace lockstep

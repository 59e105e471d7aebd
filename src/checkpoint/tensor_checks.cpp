#include "tensor_checks.h"

#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>

namespace lockstep::checkpoint {

void check_tensors(std::span<const data::TensorBytes> tensors, std::string_view kind) {
  std::unordered_set<std::string_view> names;
  for (const data::TensorBytes& tensor : tensors) {
    json_text(tensor.name, kind);
    if (data::tensor_size(tensor.type, tensor.shape) != tensor.bytes.size()) {
      throw UsageError({.message = fmt::format("tensor '{}' cannot be written to a {} file", tensor.name, kind),
                        .found = fmt::format("{} bytes for {} [{}]", tensor.bytes.size(), element_name(tensor.type),
                                             fmt::join(tensor.shape, ", ")),
                        .expected = "the bytes that its shape takes"});
    }
    if (!names.insert(tensor.name).second) {
      throw UsageError(fmt::format("there are two tensors '{}' for one {} file", tensor.name, kind));
    }
  }
}

std::string json_text(std::string_view text, std::string_view kind) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw UsageError({.message = fmt::format("'{}' cannot be written to a {} file", text, kind),
                      .found = "bytes that are not UTF-8"});
  }
}

}  // namespace lockstep::checkpoint

#include <lockstep/data/tensor_file.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/mapped_file.h>
#include <lockstep/base/text.h>

#include "tensor_formats.h"

namespace lockstep::data {

std::optional<std::uint64_t> tensor_size(ElementType type, std::span<const std::int64_t> shape) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  std::uint64_t bytes = element_size(type);
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    const auto factor = static_cast<std::uint64_t>(size);
    empty = empty || factor == 0;
    // Also of an empty tensor the other sizes must make sense.
    if (factor > 0 && bytes > kMost / factor) return std::nullopt;
    bytes *= std::max<std::uint64_t>(factor, 1);
  }
  return empty ? 0 : bytes;
}

TensorFile open_npy(const std::filesystem::path& path) {
  MappedFile file = map_file(path);
  return {.tensor = parse_npy(file.bytes, path.string()), .owner = std::move(file.owner)};
}

TensorFile open_raw_tensor(const std::filesystem::path& path, ElementType type, std::vector<std::int64_t> shape) {
  MappedFile file = map_file(path);
  const std::optional<std::uint64_t> size = tensor_size(type, shape);
  if (size != file.bytes.size()) {
    throw UsageError({.message = fmt::format("'{}' is not the tensor it is said to be", path.string()),
                      .found = fmt::format("{} bytes", file.bytes.size()),
                      .expected = fmt::format("{} for {} [{}]", size ? std::to_string(*size) + " bytes" : "sizes",
                                              element_name(type), fmt::join(shape, ", "))});
  }
  return {.tensor = {.name = "", .type = type, .shape = std::move(shape), .bytes = file.bytes},
          .owner = std::move(file.owner)};
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : path_(path.string()) {
  MappedFile file = map_file(path);
  owner_ = std::move(file.owner);
  SafetensorsContent content = parse_safetensors(file.bytes, path_);
  header_ = content.header;
  tensors_ = std::move(content.tensors);
  metadata_ = std::move(content.metadata);
}

const TensorBytes& SafetensorsFile::at(std::string_view name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.name == name; });
  if (found != tensors_.end()) return *found;
  std::vector<std::string> names;
  for (const TensorBytes& tensor : tensors_) names.push_back(tensor.name);
  throw UsageError(fmt::format("'{}' has no tensor '{}'{}", path_, name, did_you_mean(name, names)));
}

}  // namespace lockstep::data

#include <lockstep/checkpoint/safetensors_writer.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/crc32c.h>
#include <lockstep/base/errors.h>

#include "little_endian.h"
#include "output_file.h"
#include "tensor_checks.h"

namespace lockstep::checkpoint {
namespace {

using data::TensorBytes;

constexpr std::size_t kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kAlignment = 8;
constexpr std::size_t kPiece = std::size_t{1} << 20;  // stays in the cache between its checksum and its write
constexpr std::string_view kMetadata = "__metadata__";

std::string json_text(std::string_view text) {
  return checkpoint::json_text(text, "safetensors");
}

std::vector<const TensorBytes*> in_file_order(std::span<const TensorBytes> tensors) {
  check_tensors(tensors, "safetensors");
  std::vector<const TensorBytes*> ordered;
  for (const TensorBytes& tensor : tensors) {
    if (tensor.name == kMetadata) {
      throw UsageError({.message = fmt::format("tensor '{}' cannot be written to a safetensors file", kMetadata),
                        .expected = "another name"});
    }
    ordered.push_back(&tensor);
  }
  const auto by_name = [](const TensorBytes* a, const TensorBytes* b) { return a->name < b->name; };
  std::sort(ordered.begin(), ordered.end(), by_name);
  std::stable_sort(ordered.begin(), ordered.end(), [](const TensorBytes* a, const TensorBytes* b) {
    return element_size(a->type) > element_size(b->type);
  });
  return ordered;
}

std::string header_of(std::span<const TensorBytes* const> tensors, const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) pairs.push_back(json_text(key) + ":" + json_text(value));
    entries.push_back(fmt::format("\"{}\":{{{}}}", kMetadata, fmt::join(pairs, ",")));
  }
  std::size_t offset = 0;
  for (const TensorBytes* tensor : tensors) {
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_text(tensor->name),
                                  safetensors_name(tensor->type), fmt::join(tensor->shape, ","), offset,
                                  offset + tensor->bytes.size()));
    offset += tensor->bytes.size();
  }
  std::string header = fmt::format("{{{}}}", fmt::join(entries, ","));
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  if (header.size() > kMaxHeader) {
    throw UsageError({.message = "there are too many tensors for one safetensors file",
                      .found = fmt::format("{} with a header of {} bytes", tensors.size(), header.size()),
                      .expected = fmt::format("a header of at most {}", kMaxHeader)});
  }
  return little_endian(header.size(), 8) + header;
}

std::uint32_t write_with_checksum(OutputFile& file, std::span<const std::byte> bytes) {
  std::uint32_t checksum = 0;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(kPiece, bytes.size()));
    checksum = crc32c(piece, checksum);
    file.write(piece);
    bytes = bytes.subspan(piece.size());
  }
  return checksum;
}

}  // namespace

FileRecord write_safetensors(const std::filesystem::path& path, std::span<const TensorBytes> tensors,
                             const std::map<std::string, std::string>& metadata) {
  const std::vector<const TensorBytes*> ordered = in_file_order(tensors);
  const std::string header = header_of(ordered, metadata);
  OutputFile file(path);
  FileRecord record{.name = path.filename().string(), .header_bytes = header.size()};
  record.header_checksum = write_with_checksum(file, std::as_bytes(std::span(header)));
  for (const TensorBytes* tensor : ordered) {
    record.tensors.push_back(
        {.name = tensor->name, .bytes = tensor->bytes.size(), .checksum = write_with_checksum(file, tensor->bytes)});
  }
  file.finish();
  return record;
}

}  // namespace lockstep::checkpoint

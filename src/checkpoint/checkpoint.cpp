#include <lockstep/checkpoint/checkpoint.h>

#include <vector>

#include <fmt/format.h>

#include <lockstep/base/crc32c.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

#include "verify_file.h"

namespace lockstep::checkpoint {
namespace {

constexpr std::uint64_t kLargestManifest = std::uint64_t{256} << 20;  // a million tensors with long names

// A file and its record, each whole in itself, may still be of two checkpoints.
void check_that_they_agree(const data::SafetensorsFile& content, const FileRecord& record,
                           const std::filesystem::path& path) {
  bool agree = content.tensors().size() == record.tensors.size();
  std::map<std::string_view, std::uint64_t> sizes;
  for (const data::TensorBytes& tensor : content.tensors()) sizes[tensor.name] = tensor.bytes.size();
  for (const TensorRecord& tensor : record.tensors) {
    const auto found = sizes.find(tensor.name);
    agree = agree && found != sizes.end() && found->second == tensor.bytes;
  }
  if (!agree) {
    throw UsageError({.message = fmt::format("'{}' has other tensors than {} says", path.string(), kManifestName),
                      .found = format_plural(std::ssize(content.tensors()), "tensor"),
                      .expected = std::to_string(record.tensors.size())});
  }
}

}  // namespace

Manifest read_manifest(const std::filesystem::path& folder) {
  const auto path = folder / kManifestName;
  return parse_manifest(files::read(path, kLargestManifest), path.string());
}

void verify(const std::filesystem::path& folder) {
  const Manifest manifest = read_manifest(folder);
  for (const FileRecord& file : manifest.files) {
    verify_file(folder / file.name, file);
    check_that_they_agree(data::SafetensorsFile(folder / file.name), file, folder / file.name);
  }
}

Checkpoint::Checkpoint(std::filesystem::path folder) : folder_(std::move(folder)), manifest_(read_manifest(folder_)) {
  for (const FileRecord& record : manifest_.files) {
    const auto path = folder_ / record.name;
    verify_header(path, record);
    File file{.content = data::SafetensorsFile(path), .checksums = {}};
    check_that_they_agree(file.content, record, path);
    for (const TensorRecord& tensor : record.tensors) file.checksums[tensor.name] = tensor.checksum;
    files_.emplace(record.name, std::move(file));
  }
}

data::TensorFile Checkpoint::tensor(std::string_view file_name, std::string_view name) const {
  const File& from = file(file_name);
  const data::TensorBytes& tensor = from.content.at(name);
  const std::uint32_t found = crc32c(tensor.bytes), expected = from.checksums.at(tensor.name);
  if (found != expected) throw damaged_part(fmt::format("tensor '{}' of", name), folder_ / file_name, found, expected);
  return {.tensor = tensor, .owner = from.content.owner()};
}

const Checkpoint::File& Checkpoint::file(std::string_view name) const {
  if (const auto found = files_.find(name); found != files_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, file] : files_) names.push_back(known);
  throw UsageError(
      fmt::format("checkpoint '{}' has no file '{}'{}", folder_.string(), name, did_you_mean(name, names)));
}

}  // namespace lockstep::checkpoint

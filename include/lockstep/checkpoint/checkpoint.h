// Checkpoints read. Nothing in them is trusted: what is truncated, flipped, forged, or of a newer version is refused
// with an error that says which tensor, header or file it is.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include <lockstep/checkpoint/manifest.h>
#include <lockstep/data/tensor_file.h>

namespace lockstep::checkpoint {

// What checkpoint.json of that folder says. Throws UsageError.
Manifest read_manifest(const std::filesystem::path& folder);

// Reads every byte of the checkpoint and compares it with its checksum. Throws UsageError for damage, RuntimeError when
// reading fails. Every byte is read before a file is mapped, so a bad disk is an error and not the end of the process.
void verify(const std::filesystem::path& folder);

// One checkpoint, its files memory mapped.
class Checkpoint {
 public:
  // Checks checkpoint.json, the sizes of the files and their headers, but not the tensors yet. Throws as verify() does.
  explicit Checkpoint(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }

  // A tensor of a file, after its bytes were checked. They stay where they are as long as a copy of its owner lives.
  // Throws UsageError for names that are not there, with the nearest, and for bytes that are not those that were
  // written.
  data::TensorFile tensor(std::string_view file, std::string_view name) const;

 private:
  struct File {
    data::SafetensorsFile content;
    std::map<std::string, std::uint32_t, std::less<>> checksums;
  };
  const File& file(std::string_view name) const;

  std::filesystem::path folder_;
  Manifest manifest_;
  std::map<std::string, File, std::less<>> files_;
};

}  // namespace lockstep::checkpoint

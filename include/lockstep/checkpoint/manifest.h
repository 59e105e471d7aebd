// What checkpoint.json says: what a checkpoint is of, and of which files it is made, each with its checksums.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::checkpoint {

inline constexpr int kFormatVersion = 1;
inline constexpr std::string_view kManifestName = "checkpoint.json";
inline constexpr std::string_view kModelFile = "model.safetensors";
inline constexpr std::string_view kTrainingFile = "training.safetensors";

// "training-00001-of-00004.safetensors": the share of rank 0 of 4. Throws UsageError for a rank that is not one of
// them.
std::string training_shard(int rank, int ranks);

struct TensorRecord {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;  // CRC-32C, as all of them

  bool operator==(const TensorRecord&) const = default;
};

// A safetensors file: its header, then its tensors in the order of their bytes, and nothing else.
struct FileRecord {
  std::string name;
  std::uint64_t header_bytes = 0;  // with the header's length, which the file begins with
  std::uint32_t header_checksum = 0;
  std::vector<TensorRecord> tensors;

  std::uint64_t bytes() const;  // of the whole file
  bool operator==(const FileRecord&) const = default;
};

struct Manifest {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t ranks = 1;
  std::map<std::string, std::int64_t> integers;  // positions and counts
  std::map<std::string, double> numbers;         // metrics; they may be NaN or infinite
  std::map<std::string, std::string> texts;      // UTF-8: the config, its hash, ...
  std::vector<FileRecord> files;

  bool operator==(const Manifest&) const = default;
};

// The content of checkpoint.json: JSON that ends in a checksum of all before it. The same manifest always gives the
// same bytes. Throws UsageError for what parse_manifest() would refuse, and for texts that are not UTF-8.
std::string to_json(const Manifest& manifest);

// Throws UsageError that names `file` and what is wrong with it: every content that to_json() would not have written is
// refused, so no flipped bit is overlooked; also a newer version, and sizes, names and numbers that make no sense.
Manifest parse_manifest(std::string_view content, const std::string& file);

}  // namespace lockstep::checkpoint

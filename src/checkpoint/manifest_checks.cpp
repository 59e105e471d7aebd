#include "manifest_checks.h"

#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::checkpoint {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 50;  // of a file; keeps sums far from overflow
constexpr std::size_t kMostTensors = 1'000'000;               // of a checkpoint
constexpr std::string_view kSuffix = ".safetensors";
constexpr int kMostShards = 99'999;

// A file of the checkpoint's own folder, whatever a forger would like it to be.
bool is_plain_name(std::string_view name) {
  return name.size() > kSuffix.size() && name.size() <= 200 && name.ends_with(kSuffix) && name.front() != '.' &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

// The number of shards that a file is one of.
std::optional<int> shards_of(std::string_view name) {
  constexpr std::string_view kPattern = "training-00000-of-00000.safetensors";
  constexpr std::size_t kNumber = kPattern.find("00000"), kCount = kPattern.rfind("00000");
  if (name.size() != kPattern.size()) return std::nullopt;
  int number = 0, count = 0;
  std::from_chars(name.data() + kNumber, name.data() + kNumber + 5, number);
  std::from_chars(name.data() + kCount, name.data() + kCount + 5, count);
  if (number < 1 || number > count || name != training_shard(number - 1, count)) return std::nullopt;
  return count;
}

std::string problem_of(const FileRecord& file) {
  std::uint64_t bytes = file.header_bytes;
  std::set<std::string_view> names;
  for (const TensorRecord& tensor : file.tensors) {
    if (tensor.bytes > kMostBytes || bytes > kMostBytes) {
      return fmt::format("tensor '{}' of {} cannot have {} bytes", tensor.name, file.name, tensor.bytes);
    }
    bytes += tensor.bytes;
    if (!names.insert(tensor.name).second) return fmt::format("tensor '{}' of {} comes twice", tensor.name, file.name);
  }
  if (bytes > kMostBytes) return fmt::format("{} cannot have {} bytes", file.name, bytes);
  return "";
}

}  // namespace

std::string training_shard(int rank, int ranks) {
  if (rank < 0 || rank >= ranks || ranks > kMostShards) {
    throw UsageError({.message = "there is no such shard of a checkpoint",
                      .found = fmt::format("rank {} of {}", rank, ranks),
                      .expected = fmt::format("a rank of at most {}", kMostShards)});
  }
  return fmt::format("training-{:05}-of-{:05}.safetensors", rank + 1, ranks);
}

std::string problem_of(const Manifest& manifest) {
  if (manifest.step < 0) return fmt::format("step {} is negative", manifest.step);
  if (manifest.epoch < 0) return fmt::format("epoch {} is negative", manifest.epoch);
  if (manifest.ranks < 1) return fmt::format("{} ranks are too few", manifest.ranks);
  std::size_t tensors = 0;
  std::set<std::string_view> names;
  for (const FileRecord& file : manifest.files) {
    if (!is_plain_name(file.name)) return fmt::format("'{}' is no name of a checkpoint's file", file.name);
    if (!names.insert(file.name).second) return fmt::format("{} comes twice", file.name);
    if (std::string problem = problem_of(file); !problem.empty()) return problem;
    tensors += file.tensors.size();
  }
  if (tensors > kMostTensors) return fmt::format("{} tensors are more than {}", tensors, kMostTensors);
  std::set<int> splits;
  for (const FileRecord& file : manifest.files) splits.insert(shards_of(file.name).value_or(0));
  for (const int shards : splits) {
    for (int rank = 0; rank < shards; ++rank) {
      if (!names.contains(training_shard(rank, shards)))
        return training_shard(rank, shards) + " is not among its files";
    }
  }
  return "";
}

}  // namespace lockstep::checkpoint

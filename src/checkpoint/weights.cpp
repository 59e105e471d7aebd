#include <lockstep/checkpoint/weights.h>

#include <fmt/format.h>

#include <lockstep/base/damaged_file.h>
#include <lockstep/base/mapped_file.h>
#include <lockstep/base/text.h>
#include <lockstep/checkpoint/checkpoint.h>
#include <lockstep/checkpoint/torch_file.h>

#include "zip_format.h"

namespace lockstep::checkpoint {
namespace {

constexpr std::size_t kMostNames = 5;  // in a message

WeightsKind kind_of_file(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);
  const std::string_view content(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  constexpr std::string_view kZip = zip::kLocalHeader.signature, kPickle = "\x80\x02";
  constexpr std::size_t kLengthBytes = 8;  // a safetensors file begins with the length of its JSON
  const bool has_header = content.size() > kLengthBytes && content[kLengthBytes] == '{';
  // First, because a length may look like the beginning of anything.
  if (has_header) return WeightsKind::kSafetensors;
  if (content.starts_with(kZip) || content.starts_with(kPickle)) return WeightsKind::kTorch;
  // What is empty or cut off at once is a damaged file of the kind that its name says.
  const auto ending = path.extension();
  if (ending == ".safetensors") return WeightsKind::kSafetensors;
  if ((ending == ".pt" || ending == ".pth") && kZip.starts_with(content)) return WeightsKind::kTorch;
  throw UsageError({.message = fmt::format("'{}' is no file of weights", path.string()),
                    .expected = "a safetensors file, or one that torch.save has written"});
}

Weights model_of(const Checkpoint& checkpoint) {
  Weights weights;
  for (const FileRecord& file : checkpoint.manifest().files) {
    if (file.name != kModelFile) continue;
    for (const TensorRecord& record : file.tensors) {
      weights.tensors.push_back(checkpoint.tensor(file.name, record.name));
    }
    return weights;
  }
  throw UsageError(fmt::format("checkpoint '{}' has no {}", checkpoint.folder().string(), kModelFile));
}

Weights average_of(const Checkpoint& checkpoint) {
  Weights weights{.tensors = {}, .notes = {"took the averaged weights (EMA)"}};
  for (const FileRecord& file : checkpoint.manifest().files) {
    for (const TensorRecord& record : file.tensors) {
      if (file.name == kModelFile || !record.name.starts_with(kAveragePrefix) || record.name == kAverageUpdates)
        continue;
      weights.tensors.push_back(checkpoint.tensor(file.name, record.name));
      weights.tensors.back().tensor.name.erase(0, kAveragePrefix.size());
    }
  }
  if (!weights.tensors.empty()) return weights;
  throw UsageError({.message = fmt::format("checkpoint '{}' has no averaged weights", checkpoint.folder().string()),
                    .next = "take the model's own, or train with an average (EMA)"});
}

Weights torch_weights(const std::filesystem::path& path, const std::string& key) {
  TorchState state = read_torch_file(path, key);
  Weights weights{.tensors = std::move(state.tensors), .notes = {}};
  if (!state.key.empty()) weights.notes.push_back(fmt::format("took the state dict under '{}'", state.key));
  if (state.unwrapped) weights.notes.emplace_back("took 'module.' from all names");
  if (!state.left_out.empty()) {
    weights.notes.push_back("left out what is no tensor: " + format_some(state.left_out, kMostNames));
  }
  return weights;
}

Weights safetensors_weights(const std::filesystem::path& path) {
  const data::SafetensorsFile file(path);
  Weights weights;
  for (const data::TensorBytes& tensor : file.tensors()) weights.tensors.push_back({tensor, file.owner()});
  return weights;
}

}  // namespace

WeightsKind kind_of_weights(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return kind_of_file(path);
  if (std::filesystem::exists(path / kManifestName, error)) return WeightsKind::kCheckpoint;
  throw UsageError({.message = fmt::format("folder '{}' is no checkpoint", path.string()),
                    .expected = fmt::format("a {} in it", kManifestName),
                    .next = "name one checkpoint of a run, such as RUN/checkpoints/1200"});
}

Weights open_weights(const std::filesystem::path& path, const WeightsOptions& options) {
  const WeightsKind kind = kind_of_weights(path);
  if (options.average && kind != WeightsKind::kCheckpoint) {
    throw UsageError(
        fmt::format("'{}' is a file; only a checkpoint has averaged weights beside others", path.string()));
  }
  if (!options.key.empty() && kind != WeightsKind::kTorch) {
    throw UsageError(fmt::format("'{}' has no key '{}'; only PyTorch files have keys", path.string(), options.key));
  }
  switch (kind) {
    case WeightsKind::kCheckpoint:
      return options.average ? average_of(Checkpoint(path)) : model_of(Checkpoint(path));
    case WeightsKind::kSafetensors:
      return safetensors_weights(path);
    case WeightsKind::kTorch:
      break;
  }
  return torch_weights(path, options.key);
}

}  // namespace lockstep::checkpoint

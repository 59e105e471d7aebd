// A model's weights, from whatever file holds them, and into the files that others read.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <lockstep/data/tensor_file.h>

namespace lockstep::checkpoint {

struct WeightsOptions {
  bool average = false;  // of a checkpoint: the averaged weights (EMA) instead of the model's own
  std::string key;       // of a PyTorch file: where the state dict is, when it is not in a usual place
};

struct Weights {
  std::vector<data::TensorFile> tensors;  // by the names of the model's parameters and buffers
  std::vector<std::string> notes;         // what was done to them, in words for a person: "took ...", "left out ..."
};

// What a path holds, as its content says, whatever its name is.
enum class WeightsKind { kCheckpoint, kSafetensors, kTorch };

// Throws UsageError when it is none of them: a path that is not there, another folder or file.
WeightsKind kind_of_weights(const std::filesystem::path& path);

// The weights in a checkpoint's folder, a safetensors file, or a PyTorch file (.pt, .pth, .pth.tar). The bytes are
// compared with their checksums, where the format has some; they stay where they are as long as the owners live. Throws
// UsageError that names the file and the reason.
Weights open_weights(const std::filesystem::path& path, const WeightsOptions& options = {});

// The names under which training.safetensors holds averaged weights begin with this.
inline constexpr std::string_view kAveragePrefix = "ema/";
// The number of updates, which is no weight.
inline constexpr std::string_view kAverageUpdates = "ema/updates";

// Writes FILE.safetensors, or FILE.pt or .pth for PyTorch: all of it or nothing (temporary name, fsync, rename). Throws
// UsageError for another ending and, unless `replace`, when the file is there; RuntimeError when it cannot be written.
void write_weights(const std::filesystem::path& path, std::span<const data::TensorBytes> tensors, bool replace = false);

// As write_weights() would. To be called before long work.
void check_weights_target(const std::filesystem::path& path, bool replace);

}  // namespace lockstep::checkpoint

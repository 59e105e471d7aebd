// PyTorch's files of weights (.pt, .pth, .pth.tar), read without running what they hold, and written so that
// torch.load(weights_only=True) reads them.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <lockstep/data/tensor_file.h>

namespace lockstep::checkpoint {

// A dictionary of tensors.
struct TorchState {
  std::vector<data::TensorFile> tensors;  // in the dictionary's order, in plain order of elements
  std::string key;                        // where in the file it is; empty: it is the file's one object
  bool unwrapped = false;                 // whether "module." was taken from all of its names
  std::vector<std::string> left_out;      // its values that are no tensors
};

// Reads what torch.save has written since PyTorch 1.6. The dictionary is the file's own object or, in that, the one
// under "state_dict", "model", "model_state_dict" or "module"; `key` names another, "a/b" one within another. A prefix
// "module." that all names have, as DistributedDataParallel leaves it, is removed. Every byte that is used is compared
// with its checksum.
//
// Throws UsageError that names the file and what is wrong with it: also for the older format, for TorchScript, for what
// would run anything but the making of tensors, and for tensors that together are 8 times as large as the file.
TorchState read_torch_file(const std::filesystem::path& path, const std::string& key = "");

// Compares every byte with its checksum, and the description of every tensor, also those beside the weights, with its
// storage. Throws UsageError that names the tensor that is damaged. Returns whether there are checksums: torch.save can
// be told to write none.
bool verify_torch_file(const std::filesystem::path& path);

// Writes a new file with an OrderedDict of the tensors, each with a storage of its own, aligned to 64 bytes. Returns
// once it is on the disk. Throws as write_safetensors() does.
void write_torch_file(const std::filesystem::path& path, std::span<const data::TensorBytes> tensors);

}  // namespace lockstep::checkpoint

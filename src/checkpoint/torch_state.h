// Which dictionary of a PyTorch file holds the weights.
#pragma once
#include <string>
#include <vector>

#include <lockstep/base/pickle.h>

#include "torch_tensor.h"

namespace lockstep::checkpoint {

struct TorchDictionary {
  std::string key;  // empty: the file's one object
  std::vector<TorchTensor> tensors;
  std::vector<std::string> left_out;  // what is no tensor
  bool unwrapped = false;
};

// As read_torch_file() says. Throws UsageError when there is none, or several, with what there is.
TorchDictionary find_state(const Pickle& pickle, const std::string& key);

// The pickle of a PyTorch file.
Pickle read_torch_pickle(std::span<const std::byte> content, const std::string& file);

}  // namespace lockstep::checkpoint

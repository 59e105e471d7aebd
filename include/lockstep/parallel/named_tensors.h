#pragma once
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

namespace lockstep {

// Tensors under their names, in an order that is the same on every rank: what torch::nn::Module::named_parameters()
// returns, or a list.
struct NamedTensors {
  using List = std::vector<std::pair<std::string, at::Tensor>>;
  NamedTensors(const torch::OrderedDict<std::string, at::Tensor>& dictionary) : list(dictionary.pairs()) {}
  NamedTensors(List tensors) : list(std::move(tensors)) {}

  List list;
};

// Without their names.
inline std::vector<at::Tensor> tensors_of(const NamedTensors::List& list) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : list) tensors.push_back(tensor);
  return tensors;
}

}  // namespace lockstep

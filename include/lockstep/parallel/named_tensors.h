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

// Those that require a gradient, or those that do not.
inline NamedTensors::List with_gradient(const NamedTensors::List& list, bool requires_gradient = true) {
  NamedTensors::List result;
  for (const auto& named : list) {
    if (named.second.requires_grad() == requires_gradient) result.push_back(named);
  }
  return result;
}

// Without their names.
inline std::vector<at::Tensor> tensors_of(const NamedTensors::List& list) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : list) tensors.push_back(tensor);
  return tensors;
}

}  // namespace lockstep

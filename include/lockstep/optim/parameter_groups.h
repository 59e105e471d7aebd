// The parameters of a model, divided by what an optimizer shall do with them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace lockstep::optim {

struct ParameterGroup {
  std::string name;
  std::vector<std::string> parameter_names;
  std::vector<at::Tensor> parameters;
  // In place of the optimizer's.
  std::optional<double> lr = std::nullopt, weight_decay = std::nullopt;
};

struct ParameterGroupOptions {
  bool decay_norms_and_biases = false;  // true: one group of all
};

// The parameters that require a gradient, in the order of named_parameters(): a group "decay", and "no_decay" with a
// weight decay of 0. In the latter are those of normalizations (modules whose type is named Norm, as BatchNorm2d and
// LayerNorm are, whatever their shape), those named bias, and those of one dimension or none. One tensor under several
// names counts once, by the first. A group that would be empty is left out.
//
// Throws UsageError for a model in which nothing requires a gradient.
std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& model, const ParameterGroupOptions& options = {});

}  // namespace lockstep::optim

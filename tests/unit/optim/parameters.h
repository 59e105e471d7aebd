// Parameters and gradients that optimizers find hard.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include <torch/torch.h>

namespace lockstep::test {

// Of several types and layouts.
inline std::vector<torch::Tensor> make_parameters(bool with_complex = true) {
  torch::manual_seed(5);
  std::vector<torch::Tensor> parameters{
      torch::randn({7, 3}),
      torch::randn({5}, torch::kDouble),
      torch::randn({4, 3, 5, 5}).contiguous(torch::MemoryFormat::ChannelsLast),
      torch::randn({6, 1, 4, 1}),
      torch::randn({8, 8}).t(),
      torch::randn({9, 4}).slice(1, 0, 2),  // with gaps
      torch::randn({40, 30}),               // larger than what is handled at once anywhere
  };
  if (with_complex) parameters.push_back(torch::randn({3}, torch::kComplexDouble));
  for (auto& parameter : parameters) parameter.requires_grad_(true);
  return parameters;
}

// Gradients that lie otherwise in memory than their parameters; one is missing now and then.
inline void set_gradients(const std::vector<torch::Tensor>& parameters, int step, double scale = 1) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& parameter = parameters[i];
    parameter.mutable_grad().reset();
    if (step % 4 == 1 && i % 3 == 0) continue;
    torch::manual_seed(static_cast<std::uint64_t>(step) * 100 + i);
    const auto gradient = torch::randn(parameter.sizes(), parameter.options().requires_grad(false)) * scale;
    parameter.mutable_grad() = gradient.contiguous();
  }
}

inline double largest_difference(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, (a[i] - b[i]).abs().max().item<double>());
  }
  return largest;
}

inline std::vector<torch::Tensor> copies_of(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> copies;
  for (const auto& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

inline bool all_equal(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) { return x.equal(y); });
}

// "0", "1" and so on.
inline torch::OrderedDict<std::string, torch::Tensor> numbered(const std::vector<torch::Tensor>& parameters) {
  torch::OrderedDict<std::string, torch::Tensor> names;
  for (const auto& parameter : parameters) names.insert(std::to_string(names.size()), parameter);
  return names;
}

}  // namespace lockstep::test

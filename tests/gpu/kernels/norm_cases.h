// What the tests of batch normalization on GPUs share.
#pragma once

#include <ATen/ops/batch_norm.h>
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/kernels/batch_norm.h>

namespace lockstep::kernels {

class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(1); }
};

inline at::Tensor channels_last(const at::Tensor& tensor) {
  if (tensor.dim() == 4) return tensor.contiguous(at::MemoryFormat::ChannelsLast);
  return tensor.dim() == 5 ? tensor.contiguous(at::MemoryFormat::ChannelsLast3d) : tensor.contiguous();
}

inline at::Tensor random_batch(at::IntArrayRef shape, at::ScalarType type, double mean = 0) {
  return channels_last((torch::randn(shape, at::kCUDA) + mean).to(type));
}

inline BatchNormState make_state(std::int64_t channels) {
  const auto options = at::TensorOptions(at::kFloat).device(at::kCUDA);
  return {.weight = (torch::rand({channels}, options) + 0.5).requires_grad_(),
          .bias = torch::randn({channels}, options).requires_grad_(),
          .running_mean = torch::randn({channels}, options),
          .running_var = torch::rand({channels}, options) + 0.5,
          .momentum = 0.3,
          .eps = 1e-3};
}

inline at::Tensor in_double(const at::Tensor& tensor) {
  return tensor.detach().to(at::kDouble).requires_grad_(tensor.requires_grad());
}

inline BatchNormState in_double(const BatchNormState& state) {
  return {.weight = in_double(state.weight),
          .bias = in_double(state.bias),
          .running_mean = in_double(state.running_mean),
          .running_var = in_double(state.running_var),
          .momentum = state.momentum,
          .eps = state.eps};
}

inline at::Tensor reference(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  at::Tensor output = at::batch_norm(input, state.weight, state.bias, state.running_mean, state.running_var,
                                     options.by_batch, state.momentum, state.eps, false);
  if (options.shortcut.defined()) output = output + options.shortcut;
  return options.relu ? at::relu(output) : output;
}

// The rounding of a type, and of the sums before it.
inline double tolerance_of(at::ScalarType type) {
  return type == at::kFloat ? 1e-5 : type == at::kHalf ? 2e-3 : 1.6e-2;
}

inline void expect_close(const at::Tensor& found, const at::Tensor& expected, double tolerance,
                         const std::string& what) {
  // A gradient may be a small difference of large values.
  const double largest = std::max(expected.abs().max().item<double>(), 0.1);
  EXPECT_LT((found.detach().to(at::kDouble) - expected.detach()).abs().max().item<double>(), tolerance * largest)
      << what;
}

}  // namespace lockstep::kernels

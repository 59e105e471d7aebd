// SyncBatchNorm on GPU tensors. One GPU is one rank of nccl, for which it is plain normalization; the arithmetic of
// several ranks is checked beside it, on parts of a batch that are all on this GPU.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/nn/batch_norm.h>
#include <lockstep/parallel/sync_batch_norm.h>

#include "norm_check.h"
#include "parallel/norm_arithmetic.h"
#include "world.h"

namespace lockstep::test {
namespace {

using parallel::BatchStatistics;
using parallel::GradientSums;
using parallel::NormalizedBatch;
using parallel::NormArithmetic;

struct Case {
  std::vector<std::int64_t> parts;
  std::vector<std::int64_t> sample = {5, 4, 3};
  at::ScalarType type = torch::kDouble;
  at::MemoryFormat layout = at::MemoryFormat::Contiguous;
  bool affine = true;
  double tolerance = 1e-12;
};

// Forward and backward of all ranks, one after another, with sums in place of messages.
void expect_as_one_batch(const Case& test) {
  const NormArithmetic& arithmetic = NormArithmetic::of(at::kCUDA);
  const auto parameter_type = test.type == torch::kDouble ? torch::kDouble : torch::kFloat;
  nn::BatchNorm plain(torch::nn::BatchNormOptions(5).affine(test.affine));
  plain->to(torch::kDouble);
  randomize(*plain);
  const auto on_gpu = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.detach().to(at::kCUDA, parameter_type, false, /*copy=*/true) : tensor;
  };
  const nn::BatchNormState state{.weight = on_gpu(plain->weight),
                                 .bias = on_gpu(plain->bias),
                                 .running_mean = on_gpu(plain->running_mean),
                                 .running_var = on_gpu(plain->running_var),
                                 .momentum = 0.1,
                                 .eps = 1e-5};
  std::vector<std::int64_t> shape = test.sample;
  shape.insert(shape.begin(), std::accumulate(test.parts.begin(), test.parts.end(), std::int64_t{0}));
  const at::Tensor all =
      (torch::randn(shape, torch::kDouble) * 2 + 3).to(test.type).to(torch::kDouble).requires_grad_();
  const at::Tensor gradient = torch::randn(shape, torch::kDouble).to(test.type).to(torch::kDouble);
  const at::Tensor expected = plain(all);
  expected.backward(gradient);

  const auto divided = [&](const at::Tensor& tensor) {
    std::vector<at::Tensor> parts = tensor.detach().split_with_sizes(test.parts);
    for (auto& part : parts) part = part.to(at::kCUDA, test.type).contiguous(test.layout);
    return parts;
  };
  const auto inputs = divided(all), gradients = divided(gradient);
  std::vector<at::Tensor> statistics, outputs, input_gradients;
  for (const auto& input : inputs) statistics.push_back(arithmetic.local_statistics(input, state.eps));
  const BatchStatistics combined = arithmetic.combine(torch::stack(statistics), inputs.back(), state);
  std::vector<GradientSums> sums;
  at::Tensor total, weight, bias;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].numel() == 0) continue;
    outputs.push_back(arithmetic.normalize(inputs[i], state, combined));
    EXPECT_EQ(outputs.back().suggest_memory_format(), test.layout);
    const GradientSums own = arithmetic.gradient_sums(gradients[i], {inputs[i], state.weight, combined, state.eps});
    total = total.defined() ? total + own.for_input : own.for_input;
    if (test.affine) weight = weight.defined() ? weight + own.weight : own.weight;
    if (test.affine) bias = bias.defined() ? bias + own.bias : own.bias;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].numel() == 0) continue;
    const NormalizedBatch batch{inputs[i], state.weight, combined, state.eps};
    input_gradients.push_back(arithmetic.input_gradient(gradients[i], batch, total));
  }
  expect_near("output", torch::cat(outputs), expected, test.tolerance);
  expect_near("input's gradient", torch::cat(input_gradients), all.grad(), test.tolerance);
  expect_near("running mean", state.running_mean, plain->running_mean, test.tolerance);
  expect_near("running variance", state.running_var, plain->running_var, test.tolerance);
  if (test.affine) expect_near("weight's gradient", weight, plain->weight.grad(), test.tolerance);
  if (test.affine) expect_near("bias's gradient", bias, plain->bias.grad(), test.tolerance);
}

TEST(SyncBatchNormOnGpu, IsPlainOverAllParts) {
  expect_as_one_batch({.parts = {4}});
  expect_as_one_batch({.parts = {2, 3, 4}});
  expect_as_one_batch({.parts = {2, 3}, .sample = {5}});
  expect_as_one_batch({.parts = {2, 3}, .sample = {5, 4, 3, 2}});
  expect_as_one_batch({.parts = {2, 3}, .affine = false});
  expect_as_one_batch({.parts = {2, 3}, .layout = at::MemoryFormat::ChannelsLast});
}

TEST(SyncBatchNormOnGpu, TakesPartsWithoutSamples) {
  expect_as_one_batch({.parts = {0, 2, 3}});
  expect_as_one_batch({.parts = {2, 0, 3}});
  expect_as_one_batch({.parts = {0, 0, 3}});
}

TEST(SyncBatchNormOnGpu, WorksInShorterTypes) {
  // Relative to the largest value, a few times the rounding of the type.
  for (const auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    expect_as_one_batch({.parts = {2, 3}, .type = torch::kFloat, .layout = layout, .tolerance = 1e-5});
    expect_as_one_batch({.parts = {2, 3}, .type = torch::kHalf, .layout = layout, .tolerance = 1e-2});
    expect_as_one_batch({.parts = {2, 3}, .type = torch::kBFloat16, .layout = layout, .tolerance = 3e-2});
  }
}

TEST(SyncBatchNormOnGpu, TrainsOnTheRanksThereAre) {
  NormCase test{.sample = {5, 4, 3},
                .batches = std::vector<std::int64_t>(static_cast<std::size_t>(world().size()), 3),
                .input = torch::dtype(torch::kDouble).device(torch::kCUDA)};
  SyncBatchNorm synced(test.options, world());
  synced->to(torch::kCUDA, torch::kDouble);
  expect_as_one_batch(test, synced, world());
}

}  // namespace
}  // namespace lockstep::test

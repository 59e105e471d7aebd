// Kernels for bfloat16 give what those for floats give of the same values, rounded when it is written: to the last bit,
// for each instruction set.
#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/utils.h>

#include "kernels/cpu/batch_norm_passes.h"
#include "kernels/cpu/pool_kernels.h"
#include "kernels/cpu/values.h"
#include "levels.h"

namespace lockstep::kernels {
namespace {

constexpr std::int64_t kChannels[] = {1, 3, 7, 8, 16, 17, 64, 100};

at::Tensor rounded(const at::Tensor& tensor) {
  return tensor.to(at::kBFloat16);
}

at::Tensor noise(std::int64_t rows, std::int64_t channels) {
  return rounded(at::randn({rows, channels}));
}

class BatchNormBfloat16 : public EveryLevel<BatchNormLevel> {};

// Results of all passes over these rows, those of values as floats.
struct Results {
  ChannelMoments moments;
  GradientSums sums;
  at::Tensor y, bits, masked, of_input;
};

struct Rows {
  at::Tensor x, shortcut, gradient;  // floats or bfloat16
  at::Tensor center, scale, offset;  // floats
  bool relu, adds;
};

template <typename Value>
Results results_of(const BatchNormKernels<Value>& kernels, const Rows& rows) {
  const std::int64_t count = rows.x.size(0), channels = rows.x.size(1);
  const NormCoefficients by{values_of<float>(rows.center), values_of<float>(rows.scale), values_of<float>(rows.offset)};
  Results results{.moments = batch_moments(kernels, values_of<Value>(rows.x), count, channels),
                  .sums = {},
                  .y = at::empty_like(rows.x),
                  .bits = at::zeros({count, bytes_of_bits(channels)}, at::kByte),
                  .masked = at::empty_like(rows.x),
                  .of_input = at::empty_like(rows.x)};
  auto* bits = rows.adds && rows.relu ? results.bits.template mutable_data_ptr<std::uint8_t>() : nullptr;
  normalize_batch<Value>(kernels, {.rows = count,
                                   .channels = channels,
                                   .coefficients = by,
                                   .x = values_of<Value>(rows.x),
                                   .shortcut = rows.adds ? values_of<Value>(rows.shortcut) : nullptr,
                                   .relu = rows.relu,
                                   .y = mutable_values_of<Value>(results.y),
                                   .positive = bits});
  const GradientRows<Value> batch{.rows = count,
                                  .channels = channels,
                                  .coefficients = by,
                                  .gradient = values_of<Value>(rows.gradient),
                                  .x = values_of<Value>(rows.x),
                                  .relu = rows.relu,
                                  .positive = bits};
  results.sums = sum_gradients(kernels, mutable_values_of<Value>(results.masked), batch);
  input_gradient(kernels, mutable_values_of<Value>(results.of_input), by.scale, by.offset, batch);
  return results;
}

TEST_P(BatchNormBfloat16, GivesWhatFloatsGive) {
  torch::manual_seed(3);
  for (const std::int64_t channels : kChannels) {
    for (const std::int64_t count : {2, 65, 1001}) {
      for (const int kind : {0, 1, 2, 3}) {
        const Rows rows{noise(count, channels), noise(count, channels), noise(count, channels), at::randn({channels}),
                        at::randn({channels}),  at::randn({channels}),  kind % 2 == 1,          kind / 2 == 1};
        Rows wide = rows;
        for (at::Tensor* tensor : {&wide.x, &wide.shortcut, &wide.gradient}) *tensor = tensor->to(at::kFloat);
        const Results found = results_of(kernels().bfloats, rows), expected = results_of(kernels().floats, wide);
        const std::string what = c10::str(count, " x ", channels, ", kind ", kind);
        EXPECT_EQ(found.moments.mean, expected.moments.mean) << what;
        EXPECT_EQ(found.moments.variance, expected.moments.variance) << what;
        EXPECT_EQ(found.sums.gradient, expected.sums.gradient) << what;
        EXPECT_EQ(found.sums.product, expected.sums.product) << what;
        EXPECT_TRUE(at::equal(found.bits, expected.bits)) << what;
        EXPECT_TRUE(at::equal(found.y, rounded(expected.y))) << what;
        EXPECT_TRUE(at::equal(found.masked, rounded(expected.masked))) << what;
        EXPECT_TRUE(at::equal(found.of_input, rounded(expected.of_input))) << what;
      }
    }
  }
}

// Halfway between two, beyond the largest, infinite, not a number, and too small for a normal one.
TEST_P(BatchNormBfloat16, RoundsAsLibtorchDoes) {
  const float values[] = {1.00390625F, 1.01171875F, -1.00390625F, 3.4e38F, -3.4e38F, INFINITY, -INFINITY, NAN,
                          1e-40F,      -1e-39F,     0.0F,         -0.0F,   1.0F,     65504.0F, 1e-8F,     0.3F};
  for (const float value : values) {
    const Bfloat16 x[] = {{0}, {0}};
    const float center[] = {0, 0}, scale[] = {1, 1}, offset[] = {value, value};
    Bfloat16 y[2];
    normalize_batch<Bfloat16>(kernels().bfloats,
                              {.rows = 1, .channels = 2, .coefficients = {center, scale, offset}, .x = x, .y = y});
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(at::BFloat16(y[1].bits, at::BFloat16::from_bits()))));
    } else {
      EXPECT_EQ(y[1].bits, at::BFloat16(value + 0.0F).x) << value;
    }
  }
}

class PoolBfloat16 : public EveryLevel<PoolLevel> {};

template <typename Value>
std::vector<at::Tensor> pooled(const PoolKernels<Value>& kernels, const PoolShape& shape, const at::Tensor& x,
                               const at::Tensor& gradient) {
  const std::int64_t positions = shape.in[1] * shape.in[2];
  const at::Tensor y = at::empty_like(gradient), of_input = at::empty_like(x), places = at::empty(y.sizes(), at::kByte);
  const at::Tensor mean = at::empty({shape.channels}, x.options()), of_mean = at::empty_like(x);
  auto* found = places.mutable_data_ptr<std::uint8_t>();
  kernels.max_pool(shape, mutable_values_of<Value>(y), found, values_of<Value>(x), 0, shape.out[1]);
  kernels.max_pool_gradient(shape, mutable_values_of<Value>(of_input), values_of<Value>(gradient), found, 0,
                            shape.in[1]);
  kernels.average(mutable_values_of<Value>(mean), values_of<Value>(x), positions, shape.channels);
  kernels.average_gradient(mutable_values_of<Value>(of_mean), values_of<Value>(gradient), positions, shape.channels);
  return {y, of_input, mean, of_mean};
}

TEST_P(PoolBfloat16, GivesWhatFloatsGive) {
  torch::manual_seed(4);
  for (const std::int64_t channels : kChannels) {
    for (const PoolAct act : {PoolAct::kNone, PoolAct::kRelu, PoolAct::kLeakyRelu}) {
      const PoolShape shape{.channels = channels,
                            .in = {1, 7, 9},
                            .out = {1, 4, 5},
                            .kernel = {1, 3, 3},
                            .stride = {1, 2, 2},
                            .padding = {0, 1, 1},
                            .act = act,
                            .slope = 0.3F};
      const at::Tensor x = noise(7 * 9, channels), gradient = noise(4 * 5, channels);
      const auto found = pooled(kernels().bfloats, shape, x, gradient);
      const auto expected = pooled(kernels().floats, shape, x.to(at::kFloat), gradient.to(at::kFloat));
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(at::equal(found[i], rounded(expected[i]))) << channels << ", result " << i;
      }
    }
  }
}

template <typename Kernels>
std::string name_of(const testing::TestParamInfo<Level<Kernels>>& level) {
  return level.param.name;
}

INSTANTIATE_TEST_SUITE_P(Levels, BatchNormBfloat16,
                         testing::Values(Level<BatchNormLevel>{"avx2", &kBatchNormAvx2, cpu::KernelLevel::kAvx2},
                                         Level<BatchNormLevel>{"avx512", &kBatchNormAvx512, cpu::KernelLevel::kAvx512}),
                         name_of<BatchNormLevel>);
INSTANTIATE_TEST_SUITE_P(Levels, PoolBfloat16,
                         testing::Values(Level<PoolLevel>{"avx2", &kPoolAvx2, cpu::KernelLevel::kAvx2},
                                         Level<PoolLevel>{"avx512", &kPoolAvx512, cpu::KernelLevel::kAvx512}),
                         name_of<PoolLevel>);

}  // namespace
}  // namespace lockstep::kernels

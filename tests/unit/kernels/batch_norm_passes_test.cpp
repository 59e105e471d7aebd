// Each instruction set's passes over rows of channels, against sums in doubles.
#include "kernels/cpu/batch_norm_passes.h"

#include <algorithm>
#include <cmath>

#include <lockstep/data/random_stream.h>

#include "levels.h"

namespace lockstep::kernels {
namespace {

constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 64, 100};
constexpr std::int64_t kRows[] = {2, 5, 64, 65, 1000, 5001};

std::vector<float> noise(std::int64_t count, double mean = 0) {
  data::RandomStream random(5, 1, static_cast<std::uint64_t>(count));
  std::vector<float> values(static_cast<std::size_t>(count));
  // About a deviation of 1.
  for (float& value : values) value = static_cast<float>(mean + static_cast<double>(random.below(4001)) / 1000 - 2);
  return values;
}

class BatchNormPasses : public EveryLevel<BatchNormKernels<float>> {};

// What is kept beside the values: center, scale and offset, other ones for each channel.
struct Coefficients {
  explicit Coefficients(std::int64_t channels)
      : center(noise(channels)), scale(noise(channels)), offset(noise(channels)) {}
  NormCoefficients view() const { return {center.data(), scale.data(), offset.data()}; }
  std::vector<float> center, scale, offset;
};

TEST_P(BatchNormPasses, FindMeanAndVarianceWhereTheMeanIsLarge) {
  for (const double mean : {0.0, 1e4, -3e6}) {
    for (const std::int64_t channels : kChannels) {
      for (const std::int64_t rows : kRows) {
        const std::vector<float> x = noise(rows * channels, mean);
        const ChannelMoments found = batch_moments(kernels(), x.data(), rows, channels);
        for (std::int64_t c = 0; c < channels; ++c) {
          double sum = 0, squares = 0;
          for (std::int64_t row = 0; row < rows; ++row) sum += x[static_cast<std::size_t>(row * channels + c)];
          for (std::int64_t row = 0; row < rows; ++row) {
            const double deviation = x[static_cast<std::size_t>(row * channels + c)] - sum / static_cast<double>(rows);
            squares += deviation * deviation;
          }
          const double variance = squares / static_cast<double>(rows);
          const auto at = static_cast<std::size_t>(c);
          // Sums of 64 floats, each off by half of a last place.
          EXPECT_NEAR(found.mean[at], sum / static_cast<double>(rows), 1e-5) << rows << " x " << channels;
          EXPECT_NEAR(found.variance[at], variance, 1e-5 * variance) << rows << " x " << channels << ", mean " << mean;
        }
      }
    }
  }
}

TEST_P(BatchNormPasses, FindTheVarianceAfterAFirstRowFarFromAllOthers) {
  constexpr std::int64_t kCount = 5000;
  std::vector<float> x = noise(kCount);
  x[0] = 50;
  double sum = 0, squares = 0;
  for (const float value : x) sum += value;
  for (const float value : x) squares += (value - sum / kCount) * (value - sum / kCount);
  EXPECT_NEAR(batch_moments(kernels(), x.data(), kCount, 1).variance[0], squares / kCount, 1e-4 * squares / kCount);
}

TEST_P(BatchNormPasses, NormalizeAddAndRectify) {
  for (const std::int64_t channels : kChannels) {
    for (const std::int64_t rows : kRows) {
      const std::vector<float> x = noise(rows * channels), shortcut = noise(rows * channels, 0.5);
      const Coefficients by(channels);
      for (const bool adds : {false, true}) {
        for (const bool relu : {false, true}) {
          std::vector<float> y(x.size());
          std::vector<std::uint8_t> bits(static_cast<std::size_t>(rows * bytes_of_bits(channels)));
          normalize_batch<float>(kernels(), {.rows = rows,
                                             .channels = channels,
                                             .coefficients = by.view(),
                                             .x = x.data(),
                                             .shortcut = adds ? shortcut.data() : nullptr,
                                             .relu = relu,
                                             .y = y.data(),
                                             .positive = adds && relu ? bits.data() : nullptr});
          for (std::size_t i = 0; i < x.size(); ++i) {
            const std::size_t c = i % static_cast<std::size_t>(channels), row = i / static_cast<std::size_t>(channels);
            double expected = (static_cast<double>(x[i]) - by.center[c]) * by.scale[c] + by.offset[c];
            if (adds) expected += shortcut[i];
            if (relu) expected = std::max(expected, 0.0);
            ASSERT_NEAR(y[i], expected, 2e-6) << rows << " x " << channels << " at " << i;
            if (!adds || !relu) continue;
            const std::uint8_t byte = bits[row * static_cast<std::size_t>(bytes_of_bits(channels)) + c / 8];
            ASSERT_EQ((byte >> (c % 8) & 1) != 0, y[i] > 0) << rows << " x " << channels << " at " << i;
          }
        }
      }
    }
  }
}

TEST_P(BatchNormPasses, KeepANaN) {
  const float x = NAN, center = 0, scale = 1, offset = 0;
  float y = 0;
  normalize_batch<float>(
      kernels(),
      {.rows = 1, .channels = 1, .coefficients = {&center, &scale, &offset}, .x = &x, .relu = true, .y = &y});
  EXPECT_TRUE(std::isnan(y));
}

// The mask comes from the bits, from x, or there is none.
TEST_P(BatchNormPasses, SumGradientsAndMakeTheInputs) {
  for (const std::int64_t channels : kChannels) {
    for (const std::int64_t rows : kRows) {
      const std::vector<float> x = noise(rows * channels), shortcut = noise(rows * channels, 0.5);
      const std::vector<float> gradient = noise(rows * channels, 0.1);
      const std::vector<float> slope = noise(channels), constant = noise(channels, 1);
      const Coefficients by(channels);
      for (const int kind : {0, 1, 2}) {
        const bool relu = kind > 0, adds = kind == 2;
        std::vector<float> y(x.size()), masked(x.size()), result(x.size());
        std::vector<std::uint8_t> bits(static_cast<std::size_t>(rows * bytes_of_bits(channels)));
        normalize_batch<float>(kernels(), {.rows = rows,
                                           .channels = channels,
                                           .coefficients = by.view(),
                                           .x = x.data(),
                                           .shortcut = adds ? shortcut.data() : nullptr,
                                           .relu = relu,
                                           .y = y.data(),
                                           .positive = adds ? bits.data() : nullptr});
        const GradientRows<float> batch{.rows = rows,
                                        .channels = channels,
                                        .coefficients = by.view(),
                                        .gradient = gradient.data(),
                                        .x = x.data(),
                                        .relu = relu,
                                        .positive = adds ? bits.data() : nullptr};
        const GradientSums sums = sum_gradients<float>(kernels(), nullptr, batch);
        EXPECT_EQ(sum_gradients(kernels(), masked.data(), batch).product, sums.product);
        input_gradient(kernels(), result.data(), slope.data(), constant.data(), batch);

        std::vector<double> sum(static_cast<std::size_t>(channels)), product(sum.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t c = i % static_cast<std::size_t>(channels);
          const float expected = relu && !(y[i] > 0) ? 0 : gradient[i];
          ASSERT_EQ(masked[i], expected) << rows << " x " << channels << " at " << i << ", kind " << kind;
          const double deviation = static_cast<double>(x[i]) - by.center[c];
          sum[c] += expected;
          product[c] += expected * deviation;
          ASSERT_NEAR(result[i], static_cast<double>(by.scale[c]) * expected + deviation * slope[c] + constant[c],
                      1e-5);
        }
        for (std::size_t c = 0; c < sum.size(); ++c) {
          EXPECT_NEAR(sums.gradient[c], sum[c], 1e-6 * static_cast<double>(rows));
          EXPECT_NEAR(sums.product[c], product[c], 1e-6 * static_cast<double>(rows));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Levels, BatchNormPasses,
    ::testing::Values(Level<BatchNormKernels<float>>{"avx2", &kBatchNormAvx2.floats, cpu::KernelLevel::kAvx2},
                      Level<BatchNormKernels<float>>{"avx512", &kBatchNormAvx512.floats, cpu::KernelLevel::kAvx512}),
    [](const auto& level) { return level.param.name; });

}  // namespace
}  // namespace lockstep::kernels

#include "data/transforms/pixel_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <lockstep/base/cpu.h>
#include <lockstep/data/random_stream.h>

#include "data/transforms/filter_table.h"

namespace lockstep::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct Level {
  const char* name;
  const PixelKernels* kernels;
  cpu::KernelLevel needed;
};

// Every level must give what the base gives, which every CPU has.
class EveryLevel : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (cpu::kernel_level() < GetParam().needed) GTEST_SKIP() << "this CPU has no " << GetParam().name;
  }
  const PixelKernels& kernels() const { return *GetParam().kernels; }
};

Bytes noise(std::size_t size) {
  RandomStream random(3, 1, size);
  Bytes bytes(size);
  for (std::uint8_t& value : bytes) value = static_cast<std::uint8_t>(random.below(256));
  return bytes;
}

TEST_P(EveryLevel, ResampleRow_GivesTheSameBytes) {
  for (const int channels : {1, 3}) {
    for (const int width : {1, 2, 5, 16, 97, 500}) {
      for (const int made : {1, 3, 4, 7, 64, 224, 301}) {
        FilterTable table;
        table.build({.length = static_cast<double>(width), .scaled = made, .count = made, .high = width});
        const RowTaps taps = table.for_rows(made % 2 == 1);
        const Bytes row = noise(static_cast<std::size_t>((table.reach() + width) * channels) + kRowSlack);
        const auto bytes = static_cast<std::size_t>(made * channels);
        Bytes expected(bytes + kRowSlack), found(bytes + kRowSlack);
        kPixelKernelsBase.resample_row(expected.data(), row.data(), taps, channels);
        kernels().resample_row(found.data(), row.data(), taps, channels);
        expected.resize(bytes), found.resize(bytes);
        EXPECT_EQ(found, expected) << channels << " channels, " << width << " to " << made;
      }
    }
  }
}

TEST_P(EveryLevel, CombineRows_GivesTheSameBytes) {
  for (const int rows : {1, 2, 5, 40}) {
    FilterTable table;
    table.build({.length = static_cast<double>(rows), .scaled = 3, .count = 3, .high = rows});
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{48}, std::size_t{63}, std::size_t{672}}) {
      const std::size_t stride = bytes + kRowSlack;
      const Bytes source = noise(stride * static_cast<std::size_t>(rows) + kRowSlack);
      for (int y = 0; y < 3; ++y) {
        const std::uint8_t* first = source.data() + static_cast<std::size_t>(table.first(y)) * stride;
        Bytes expected(stride), found(stride);
        kPixelKernelsBase.combine_rows(expected.data(), first, stride, table.weights(y), table.taps(), table.shift(),
                                       bytes);
        kernels().combine_rows(found.data(), first, stride, table.weights(y), table.taps(), table.shift(), bytes);
        expected.resize(bytes), found.resize(bytes);
        EXPECT_EQ(found, expected) << rows << " rows of " << bytes;
      }
    }
  }
}

TEST_P(EveryLevel, ToFloats_RoundsTheProductAndThenTheSum) {
  RandomStream random(5, 1, 1);
  std::vector<float> scale(kFactorPeriod), bias(kFactorPeriod);
  for (float& number : scale) number = static_cast<float>(random.uniform(0.001, 0.02));
  for (float& number : bias) number = static_cast<float>(random.uniform(-3, 3));
  const Bytes bytes = noise(1000);
  for (const std::size_t count : {std::size_t{1}, std::size_t{47}, std::size_t{96}, std::size_t{1000}}) {
    std::vector<float> found(count);
    kernels().to_floats(found.data(), bytes.data(), count, scale.data(), bias.data());
    for (std::size_t i = 0; i < count; ++i) {
      const volatile float product = static_cast<float>(bytes[i]) * scale[i % kFactorPeriod];
      ASSERT_EQ(found[i], product + bias[i % kFactorPeriod]) << i << " of " << count;
    }
  }
}

TEST_P(EveryLevel, MirrorRow_ReversesPixelsAndTouchesNothingElse) {
  for (const int channels : {1, 3}) {
    for (const int width : {1, 2, 5, 6, 7, 11, 32, 33}) {
      const auto bytes = static_cast<std::size_t>(width * channels);
      const Bytes row = noise(bytes);
      Bytes found(bytes + 1, 77);
      kernels().mirror_row(found.data(), row.data(), width, channels);
      for (int x = 0; x < width; ++x) {
        for (int channel = 0; channel < channels; ++channel) {
          ASSERT_EQ(found[static_cast<std::size_t>(x * channels + channel)],
                    row[static_cast<std::size_t>((width - 1 - x) * channels + channel)]);
        }
      }
      EXPECT_EQ(found.back(), 77);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PixelKernels, EveryLevel,
                         testing::Values(Level{"base", &kPixelKernelsBase, cpu::KernelLevel::kBase},
                                         Level{"avx2", &kPixelKernelsAvx2, cpu::KernelLevel::kAvx2},
                                         Level{"avx512", &kPixelKernelsAvx512, cpu::KernelLevel::kAvx512}),
                         [](const auto& tested) { return tested.param.name; });

TEST(FilterTable, WeightsOfEveryPixelAddUpToOne) {
  for (const int from : {1, 2, 7, 100, 375}) {
    for (const int to : {1, 2, 3, 50, 224, 1000}) {
      FilterTable table;
      table.build({.length = static_cast<double>(from), .scaled = to, .count = to, .high = from});
      for (int i = 0; i < to; ++i) {
        int sum = 0;
        for (int tap = 0; tap < table.taps(); ++tap) sum += table.weights(i)[tap];
        ASSERT_EQ(sum, 1 << table.shift()) << from << " to " << to << ", pixel " << i;
        ASSERT_GE(table.first(i), 0);
        ASSERT_LE(table.first(i) + table.taps(), from);
      }
    }
  }
}

TEST(FilterTable, PixelsOfHalfTheSizeAreMadeFromFourByTheWeightsOfATriangle) {
  FilterTable table;
  table.build({.length = 8, .scaled = 4, .count = 4, .high = 8});
  ASSERT_GE(table.taps(), 4);
  EXPECT_EQ(table.first(1), 1);
  const int eighth = (1 << table.shift()) / 8;
  EXPECT_EQ(std::vector<int>(table.weights(1), table.weights(1) + 4),
            (std::vector<int>{eighth, 3 * eighth, 3 * eighth, eighth}));
}

TEST(FilterTable, APartHasTheWeightsOfTheWhole) {
  FilterTable whole, part;
  whole.build({.length = 375, .scaled = 256, .count = 256, .high = 375});
  part.build({.length = 375, .scaled = 256, .begin = 100, .count = 20, .high = 375});
  for (int i = 0; i < part.count(); ++i) {
    ASSERT_EQ(part.first(i), whole.first(100 + i));
    for (int tap = 0; tap < part.taps(); ++tap) {
      // The number of bits may differ with the largest weight.
      ASSERT_NEAR(std::ldexp(part.weights(i)[tap], -part.shift()),
                  std::ldexp(whole.weights(100 + i)[tap], -whole.shift()), 1e-4);
    }
  }
}

}  // namespace
}  // namespace lockstep::data

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <gtest/gtest.h>

#include <lockstep/base/errors.h>

#include "comm/local/reduction.h"

namespace lockstep::comm::local {
namespace {

template <typename T>
std::vector<T> reduce_all(Kernel kernel, const std::vector<std::vector<T>>& inputs) {
  std::vector<T> out(inputs[0].size());
  std::vector<const std::byte*> sources;
  for (const auto& input : inputs) sources.push_back(reinterpret_cast<const std::byte*>(input.data()));
  kernel(reinterpret_cast<std::byte*>(out.data()), sources.data(), static_cast<int>(inputs.size()), out.size());
  return out;
}

template <typename T>
T reduce_one(c10::ScalarType type, Reduce op, std::initializer_list<T> values) {
  std::vector<std::vector<T>> inputs;
  for (const T value : values) inputs.push_back({value});
  return reduce_all(find_reduction(type, op).kernel, inputs)[0];
}

struct Level {
  const char* name;
  Kernel (*find)(Number, Reduce);
  bool here;
};

std::vector<Level> levels() {
  return {
      {"base", find_kernel_base, true},
      {"avx2", find_kernel_avx2, __builtin_cpu_supports("avx2") != 0},
      {"avx512", find_kernel_avx512,
       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")}};
}

constexpr Reduce kAllOps[] = {Reduce::kSum, Reduce::kAverage, Reduce::kProduct, Reduce::kMin,
                              Reduce::kMax, Reduce::kBitAnd,  Reduce::kBitOr,   Reduce::kBitXor};

struct Type {
  Number number;
  std::size_t bytes;
};
constexpr Type kAllTypes[] = {
    {Number::kFloat16, 2}, {Number::kBFloat16, 2}, {Number::kFloat32, 4}, {Number::kFloat64, 8}, {Number::kInt8, 1},
    {Number::kInt16, 2},   {Number::kInt32, 4},    {Number::kInt64, 8},   {Number::kUInt8, 1},   {Number::kUInt16, 2},
    {Number::kUInt32, 4},  {Number::kUInt64, 8},   {Number::kBool, 1}};

TEST(LocalReduction, EveryInstructionSet_GivesTheSameNumbers) {
  constexpr std::size_t kBytes = 8 * 3001;
  std::mt19937_64 random(7);
  std::vector<std::vector<std::uint8_t>> inputs(5, std::vector<std::uint8_t>(kBytes));
  for (auto& input : inputs) {
    // Without the second bit of the highest byte no float is infinite or NaN.
    for (auto& byte : input) byte = static_cast<std::uint8_t>(random()) & 0xBF;
  }
  std::vector<const std::byte*> sources;
  for (const auto& input : inputs) sources.push_back(reinterpret_cast<const std::byte*>(input.data()));

  for (const auto& type : kAllTypes) {
    for (const Reduce op : kAllOps) {
      for (const int ranks : {2, 3, 5}) {
        const auto run = [&](const Level& level) {
          std::vector<std::uint8_t> out(kBytes);
          const Kernel kernel = level.find(type.number, op);
          if (kernel != nullptr) {
            kernel(reinterpret_cast<std::byte*>(out.data()), sources.data(), ranks, kBytes / type.bytes);
          }
          return out;
        };
        for (const Level& level : levels()) {
          if (!level.here) continue;
          ASSERT_EQ(run(level), run(levels()[0]))
              << level.name << ", number " << static_cast<int>(type.number) << ", operation " << static_cast<int>(op)
              << ", " << ranks << " ranks";
        }
      }
    }
  }
}

// All values of a 16-bit type, reduced with zero, are what c10 rounds them to.
template <typename T>
void expect_every_value_kept(Number number) {
  std::vector<std::uint16_t> all(1 << 16);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const Level& level : levels()) {
    if (!level.here) continue;
    const auto out = reduce_all<std::uint16_t>(level.find(number, Reduce::kMax), {all, all});
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float before = static_cast<float>(std::bit_cast<T>(all[i]));
      const float after = static_cast<float>(std::bit_cast<T>(out[i]));
      if (std::isnan(before)) {
        ASSERT_TRUE(std::isnan(after)) << level.name << " " << i;
      } else {
        ASSERT_EQ(out[i], all[i]) << level.name;
      }
    }
  }
}

template <typename T>
void expect_sums_rounded_as_c10_does(Number number) {
  std::mt19937 random(11);
  std::vector<std::uint16_t> a(100'000), b(100'000);
  for (auto& value : a) value = static_cast<std::uint16_t>(random());
  for (auto& value : b) value = static_cast<std::uint16_t>(random());
  for (const Level& level : levels()) {
    if (!level.here) continue;
    const auto out = reduce_all<std::uint16_t>(level.find(number, Reduce::kSum), {a, b});
    for (std::size_t i = 0; i < a.size(); ++i) {
      const T expected(static_cast<float>(std::bit_cast<T>(a[i])) + static_cast<float>(std::bit_cast<T>(b[i])));
      if (std::isnan(static_cast<float>(expected))) {
        ASSERT_TRUE(std::isnan(static_cast<float>(std::bit_cast<T>(out[i])))) << level.name;
      } else {
        ASSERT_EQ(out[i], std::bit_cast<std::uint16_t>(expected)) << level.name;
      }
    }
  }
}

TEST(LocalReduction, Float16_ConvertsAsC10Does) {
  expect_every_value_kept<c10::Half>(Number::kFloat16);
  expect_sums_rounded_as_c10_does<c10::Half>(Number::kFloat16);
}

TEST(LocalReduction, BFloat16_ConvertsAsC10Does) {
  expect_every_value_kept<c10::BFloat16>(Number::kBFloat16);
  expect_sums_rounded_as_c10_does<c10::BFloat16>(Number::kBFloat16);
}

TEST(LocalReduction, Average_OfHalfTypes_IsRoundedOnce) {
  // 2048 and 1 need twelve bits, one more than a half has: rounding on the way would lose every 1.
  const c10::Half large(2048.0F), one(1.0F);
  EXPECT_EQ(static_cast<float>(reduce_one(c10::ScalarType::Half, Reduce::kAverage, {large, one, one, one, one})),
            static_cast<float>(c10::Half(2052.0F / 5.0F)));
  const c10::BFloat16 wide(256.0F), small(1.0F);
  EXPECT_EQ(static_cast<float>(reduce_one(c10::ScalarType::BFloat16, Reduce::kSum, {wide, small, small})), 258.0F);
}

TEST(LocalReduction, MinAndMax_LetNaNWin) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Reduce op : {Reduce::kMin, Reduce::kMax}) {
    EXPECT_TRUE(std::isnan(reduce_one(c10::ScalarType::Float, op, {nan, 1.0F, 2.0F})));
    EXPECT_TRUE(std::isnan(reduce_one(c10::ScalarType::Float, op, {1.0F, nan, 2.0F})));
    EXPECT_TRUE(std::isnan(reduce_one(c10::ScalarType::Float, op, {1.0F, 2.0F, nan})));
  }
}

TEST(LocalReduction, Bool_SumIsAnyAndProductIsAll) {
  const auto type = c10::ScalarType::Bool;
  EXPECT_EQ(reduce_one<std::uint8_t>(type, Reduce::kSum, {1, 1, 1}), 1);
  EXPECT_EQ(reduce_one<std::uint8_t>(type, Reduce::kSum, {0, 0, 0}), 0);
  EXPECT_EQ(reduce_one<std::uint8_t>(type, Reduce::kProduct, {1, 1, 0}), 0);
  EXPECT_EQ(reduce_one<std::uint8_t>(type, Reduce::kBitXor, {1, 1, 1}), 1);
}

TEST(LocalReduction, WholeNumbers_WrapAround) {
  EXPECT_EQ(reduce_one<std::int32_t>(c10::ScalarType::Int, Reduce::kSum, {std::numeric_limits<std::int32_t>::max(), 1}),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reduce_one<std::uint16_t>(c10::ScalarType::UInt16, Reduce::kProduct, {65535, 65535}), 1);
  EXPECT_EQ(reduce_one<std::int8_t>(c10::ScalarType::Char, Reduce::kMin, {-3, 100, 5}), -3);
}

TEST(LocalReduction, UnknownReduction_IsTheCallersMistake) {
  EXPECT_THROW(find_reduction(c10::ScalarType::Double, Reduce::kBitAnd), UsageError);
  EXPECT_THROW(find_reduction(c10::ScalarType::Bool, Reduce::kAverage), UsageError);
  EXPECT_THROW(find_reduction(c10::ScalarType::ComplexFloat, Reduce::kSum), UsageError);
}

}  // namespace
}  // namespace lockstep::comm::local

#include <lockstep/data/mix.h>

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {
namespace {

using Floats = std::vector<float>;
using Labels = std::vector<std::int64_t>;

TEST(MixUp, MixesEachPictureWithTheOneBeforeIt) {
  Floats pixels = {0, 4, 8, 12, 100, 200};  // three pictures of two numbers
  const Labels labels = {0, 1, 1};
  Floats soft(3 * 2);
  mix_up({.share = 0.75}, pixels, labels, 2, soft);
  EXPECT_EQ(pixels, (Floats{25, 53, 6, 10, 77, 153}));
  EXPECT_EQ(soft, (Floats{0.75, 0.25, 0.25, 0.75, 0, 1}));
}

TEST(CutMix, TakesTheBoxFromTheOneBeforeIt) {
  Floats pixels = {1, 2, 3, 4, 5, 6, 7, 8};  // two pictures of 2 x 2 pixels
  const Labels labels = {2, 0};
  Floats soft(2 * 3);
  cut_mix({.share = 0.5, .box = {1, 0, 1, 2}}, {2, 2}, pixels, labels, 3, soft);
  EXPECT_EQ(pixels, (Floats{1, 6, 3, 8, 5, 2, 7, 4}));
  EXPECT_EQ(soft, (Floats{0.5, 0, 0.5, 0.5, 0, 0.5}));
}

TEST(Mix, APictureAloneStaysItself) {
  Floats pixels = {1, 2, 3};
  const Labels labels = {1};
  Floats soft(2);
  mix_up({.share = 0.5}, pixels, labels, 2, soft);
  EXPECT_EQ(pixels, (Floats{1, 2, 3}));
  EXPECT_EQ(soft, (Floats{0, 1}));
}

TEST(Mix, SharesHaveTheMomentsOfABetaDistribution) {
  constexpr int kDraws = 20'000;
  for (const double alpha : {0.01, 0.2, 1.0, 2.5, 50.0}) {
    double sum = 0, squares = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      RandomStream random(1, 2, i);
      const double share = draw_mix_up(alpha, random).share;
      ASSERT_GE(share, 0);
      ASSERT_LE(share, 1);
      sum += share - 0.5;
      squares += (share - 0.5) * (share - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / kDraws, 0, 5 * std::sqrt(variance / kDraws)) << alpha;
    EXPECT_NEAR(squares / kDraws, variance, 0.05 * variance) << alpha;
  }
}

TEST(CutMix, TheShareIsWhatIsLeftOfThePicture) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    RandomStream random(1, 2, i);
    const CutMix mix = draw_cut_mix(1, {40, 30}, random);
    ASSERT_GE(std::min({mix.box.left, mix.box.top, mix.box.width, mix.box.height}), 0);
    ASSERT_LE(mix.box.left + mix.box.width, 40);
    ASSERT_LE(mix.box.top + mix.box.height, 30);
    ASSERT_DOUBLE_EQ(mix.share, 1 - mix.box.width * mix.box.height / 1200.0);
  }
}

TEST(Mix, WhatDoesNotFitIsRefused) {
  RandomStream random(1, 2, 3);
  EXPECT_THROW(draw_mix_up(0, random), UsageError);
  EXPECT_THROW(draw_cut_mix(NAN, {4, 4}, random), UsageError);
  Floats pixels(8), soft(4);
  const Labels labels = {0, 1}, wrong = {0, 2};
  EXPECT_THROW(mix_up({}, pixels, wrong, 2, soft), UsageError);
  EXPECT_THROW(mix_up({}, pixels, labels, 3, soft), UsageError);
  EXPECT_THROW(mix_up({}, std::span(pixels).first(7), labels, 2, soft), UsageError);
  EXPECT_THROW(cut_mix({.box = {1, 1, 2, 1}}, {2, 2}, pixels, labels, 2, soft), UsageError);
}

}  // namespace
}  // namespace lockstep::data

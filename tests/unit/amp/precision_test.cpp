#include <lockstep/amp/precision.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

using amp::LossScale;
using amp::parse_precision;
using Type = std::optional<at::ScalarType>;

constexpr LossScale kNoScale{};
constexpr LossScale kDynamic{.kind = LossScale::Kind::kDynamic, .value = 65536};

LossScale fixed(double value) {
  return {.kind = LossScale::Kind::kStatic, .value = value};
}

struct Level {
  const char* name;
  Type autocast, model;
  bool keep_batchnorm_fp32, master_weights;
  LossScale loss_scale;
};

TEST(Precision, LevelsAreApexs) {
  const std::vector<Level> levels = {{"O0", {}, {}, false, false, kNoScale},
                                     {"fp32", {}, {}, false, false, kNoScale},
                                     {"O1", at::kHalf, {}, false, false, kDynamic},
                                     {"fp16", at::kHalf, {}, false, false, kDynamic},
                                     {"O2", {}, at::kHalf, true, true, kDynamic},
                                     {"O3", {}, at::kHalf, false, false, fixed(1)},
                                     {"bf16", at::kBFloat16, {}, false, false, kNoScale}};
  for (const Level& level : levels) {
    const auto found = parse_precision(level.name);
    EXPECT_EQ(found.name, level.name);
    EXPECT_EQ(found.autocast, level.autocast) << level.name;
    EXPECT_EQ(found.model, level.model) << level.name;
    EXPECT_EQ(found.keep_batchnorm_fp32, level.keep_batchnorm_fp32) << level.name;
    EXPECT_EQ(found.master_weights, level.master_weights) << level.name;
    EXPECT_EQ(found.loss_scale, level.loss_scale) << level.name;
    EXPECT_EQ(found.low_type(), level.autocast ? level.autocast : level.model) << level.name;
    EXPECT_EQ(found.skips_steps(), level.loss_scale != kNoScale) << level.name;
  }
}

TEST(Precision, CaseDoesNotMatter) {
  EXPECT_EQ(parse_precision("o2").name, "O2");
  EXPECT_EQ(parse_precision("BF16").name, "bf16");
}

TEST(Precision, OverridesDeviateFromALevel) {
  EXPECT_EQ(parse_precision("O1", {.loss_scale = "128.0"}).loss_scale, fixed(128));
  EXPECT_EQ(parse_precision("O3", {.loss_scale = "Dynamic"}).loss_scale, kDynamic);
  EXPECT_EQ(parse_precision("O1", {.loss_scale = "none"}).loss_scale, kNoScale);
  EXPECT_FALSE(parse_precision("O2", {.keep_batchnorm_fp32 = false}).keep_batchnorm_fp32);
  EXPECT_TRUE(parse_precision("O3", {.keep_batchnorm_fp32 = true}).keep_batchnorm_fp32);
  EXPECT_TRUE(parse_precision("O3", {.master_weights = true}).master_weights);
  const auto bf16 = parse_precision("O2", {.dtype = at::kBFloat16});
  EXPECT_EQ(bf16.model, at::kBFloat16);
  EXPECT_EQ(bf16.loss_scale, kNoScale) << "bf16 has the range of fp32";
  EXPECT_EQ(parse_precision("O2", {.dtype = at::kBFloat16, .loss_scale = "dynamic"}).loss_scale, kDynamic);
}

TEST(Precision, RefusesWhatMakesNoSense) {
  EXPECT_THAT([] { parse_precision("O4"); }, ThrowsWith<UsageError>("unknown precision 'O4'; did you mean 'O0'?"));
  EXPECT_THAT([] { parse_precision("bf61"); }, ThrowsWith<UsageError>("one of O0, O1, O2, O3, fp32, fp16, bf16"));
  for (const char* scale : {"big", "0", "-1", "inf", "nan", "128x", ""}) {
    EXPECT_THAT([&] { parse_precision("O1", {.loss_scale = scale}); }, ThrowsWith<UsageError>("loss scale")) << scale;
  }
  EXPECT_THAT([] { parse_precision("O1", {.dtype = at::kDouble}); }, ThrowsWith<UsageError>("16 bits"));
  EXPECT_THAT([] { parse_precision("O0", {.dtype = at::kHalf}); }, ThrowsWith<UsageError>("O0 takes no type"));
  EXPECT_THAT([] { parse_precision("bf16", {.dtype = at::kHalf}); }, ThrowsWith<UsageError>("contradict"));
  EXPECT_THAT([] { parse_precision("O1", {.keep_batchnorm_fp32 = true}); },
              ThrowsWith<UsageError>("O1 takes no keep_batchnorm_fp32"));
  EXPECT_THAT([] { parse_precision("fp32", {.master_weights = true}); },
              ThrowsWith<UsageError>("fp32 takes no master_weights"));
}

}  // namespace
}  // namespace lockstep::test

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/bench/compare.h>

#include "bench/compare_ratios.h"
#include "scoped_variable.h"
#include "throws_with.h"

namespace lockstep::test {
namespace {

using bench::ComparedSide;
using bench::CompareRow;
using ::testing::HasSubstr;
using ::testing::Not;

CompareRow sample_row() {
  CompareRow row{.model = {.name = "mnist", .batch = 64},
                 .ours = {.name = "lockstep", .samples_per_second = {20, 30, 40}, .peak_memory = 1 << 20},
                 .peers = {{.name = "eager", .samples_per_second = {5, 5, 5}},
                           {.name = "channels-last", .samples_per_second = {10, 20, 10}, .peak_memory = 1 << 21},
                           {.name = "compile", .failure = "there is no compiler", .samples_per_second = {50}},
                           {.name = "channels-last", .tuned = true, .samples_per_second = {10, 30, 20}}}};
  bench::conclude(row);
  return row;
}

TEST(CompareRow, IsComparedWithTheFastestVariantOfTheSameRounds) {
  const CompareRow row = sample_row();
  EXPECT_EQ(row.ours.median, 30);
  EXPECT_EQ(row.best, 1U);
  EXPECT_EQ(row.over_best->median, 2);
  EXPECT_EQ(row.over_best->least, 1.5);
  EXPECT_EQ(row.over_best->greatest, 4);
  EXPECT_EQ(row.tuned, 3U);
  EXPECT_EQ(row.over_tuned->median, 2);
  EXPECT_EQ(row.over_tuned->least, 1);
}

TEST(CompareRow, IsShownWithAllVariants) {
  const std::string text = bench::to_text({.rounds = 3}, {sample_row()});
  EXPECT_THAT(text, HasSubstr("2.00 (1.50 to 4.00)"));
  EXPECT_THAT(text, HasSubstr("mnist, compile: there is no compiler"));
  EXPECT_THAT(text, HasSubstr("2.0 MiB"));
  const auto value = bench::to_json({.rounds = 3}, {sample_row()});
  EXPECT_EQ(value["rows"][0]["over_best"]["median"], 2);
  EXPECT_EQ(value["rows"][0]["pytorch"][2]["failure"], "there is no compiler");
  EXPECT_EQ(value["rows"][0]["pytorch"][3]["tuned"], true);
}

TEST(CompareRow, OfOursAlone_HasNoRatio) {
  CompareRow row{.ours = {.samples_per_second = {1}}};
  bench::conclude(row);
  EXPECT_FALSE(row.over_best);
  EXPECT_THAT(bench::to_text({}, {row}), Not(HasSubstr("times")));
}

TEST(ComparedModels, AreTheClassicOnesUnlessNamed) {
  const auto classic = bench::classic_models("cpu");
  ASSERT_EQ(classic.size(), 6U);
  EXPECT_EQ(classic[0].name, "resnet50-cifar");
  EXPECT_EQ(classic[0].batch, 32);
  EXPECT_GT(bench::classic_models("cuda")[0].batch, 32);
  const auto named = bench::parse_compared_models("mnist:8,lstm", "cpu");
  ASSERT_EQ(named.size(), 2U);
  EXPECT_EQ(named[0].batch, 8);
  EXPECT_EQ(named[1].batch, 64);
}

TEST(ComparedModels, ThatAreUnknownAreRefused) {
  EXPECT_THAT([] { bench::parse_compared_models("resnet50-cifra", "cpu"); },
              ThrowsWith<UsageError>("did you mean 'resnet50-cifar'?"));
  for (const char* text : {"mnist:", "mnist:0", "mnist:x", "mnist:8x", "mnist:99999999", "mnist:-1"}) {
    EXPECT_THAT([&] { bench::parse_compared_models(text, "cpu"); }, ThrowsWith<UsageError>("MODEL:BATCH")) << text;
  }
  EXPECT_THAT([] { bench::measure_compare({.variants = {"channel-last"}}, {}); },
              ThrowsWith<UsageError>("did you mean 'channels-last'?"));
}

TEST(PythonWithTorch, ThatWasNamedHasToBeThere) {
  const ScopedVariable none("LOCKSTEP_PARITY_PYTHON", nullptr);
  std::string why;
  EXPECT_THAT([&] { bench::find_python_with_torch("lockstep-no-python", why); },
              ThrowsWith<UsageError>("there is no PyTorch to compare with"));
  const ScopedVariable named("LOCKSTEP_PARITY_PYTHON", "false");
  EXPECT_THAT([&] { bench::find_python_with_torch("", why); }, ThrowsWith<UsageError>("exit code 1"));
}

}  // namespace
}  // namespace lockstep::test

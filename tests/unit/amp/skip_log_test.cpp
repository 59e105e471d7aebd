// What is logged of skipped steps.
#include <array>
#include <limits>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/amp/grad_scaler.h>
#include <lockstep/base/log.h>

#include "amp/skip_log.h"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The log of a scaler that goes through steps of which those marked 'x' overflow.
std::string log_of(const amp::GradScalerOptions& options, const std::string& steps) {
  ::testing::internal::CaptureStderr();
  log::configure({});
  amp::GradScaler scaler(options);
  const auto weight = torch::ones({1}).requires_grad_();
  torch::optim::SGD sgd({weight}, 0.0);
  for (const char step : steps) {
    sgd.zero_grad();
    scaler.scale(weight.sum() * (step == 'x' ? std::numeric_limits<float>::infinity() : 1.0F)).backward();
    scaler.step(sgd);
    scaler.update();
    scaler.report();  // nothing is said twice
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(SkipLog, NamesTheStepAndBothScales) {
  EXPECT_EQ(log_of({}, "..x.x"),
            "step 3 skipped: gradients overflowed at loss scale 65536; the scale is now 32768\n"
            "step 5 skipped: gradients overflowed at loss scale 32768; the scale is now 16384\n");
  EXPECT_EQ(log_of({.initial_scale = 128, .dynamic = false}, "x"),
            "step 1 skipped: gradients overflowed at loss scale 128; the scale stays 128\n");
  EXPECT_EQ(log_of({}, "...."), "");
}

TEST(SkipLog, PassesOverARecordOfWhichOnlyAPartHasArrived) {
  using Row = std::array<float, 6>;
  const auto log_of_row = [](Row row) {
    ::testing::internal::CaptureStderr();
    log::configure({});
    amp::SkipLog log(/*dynamic=*/true);
    log.look(torch::from_blob(row.data(), {6}));
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(log_of_row(Row{3, 64, 3, 128, 1, 3}),
            "step 3 skipped: gradients overflowed at loss scale 128; the scale is now 64\n");
  EXPECT_EQ(log_of_row(Row{3, 64, 3, 128, 1, 2}), "") << "the end of step 2";
  EXPECT_EQ(log_of_row(Row{2, 64, 3, 128, 1, 3}), "") << "the beginning of step 2";
}

TEST(SkipLog, WarnsOnceWhenTheScaleIsBelowOne) {
  const std::string log = log_of({.initial_scale = 2}, ".xx");
  EXPECT_THAT(log, HasSubstr("warning: skipped steps in a row: 2; loss scale: 0.5; the loss itself may not be finite"));
  EXPECT_THAT(log_of({.initial_scale = 2}, "x.x"), HasSubstr("warning: skipped steps in a row: 1;"));
  EXPECT_THAT(log_of({.initial_scale = 4}, ".xx"), Not(HasSubstr("warning")));
  const std::string longer = log_of({.initial_scale = 2}, ".xxxx");
  EXPECT_EQ(longer.find("warning"), longer.rfind("warning"));
}

TEST(SkipLog, WarnsWhenManyInARowAreSkippedAtAStaticScale) {
  const amp::GradScalerOptions fixed{.initial_scale = 128, .dynamic = false};
  EXPECT_THAT(log_of(fixed, std::string(25, 'x')), HasSubstr("warning: skipped steps in a row: 25; loss scale: 128;"));
  EXPECT_THAT(log_of(fixed, std::string(24, 'x') + "." + std::string(24, 'x')), Not(HasSubstr("warning")));
}

}  // namespace
}  // namespace lockstep::test

#include <lockstep/amp/check_loss.h>

#include <limits>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(CheckLoss, TellsTheStepTheRankAndTheLastScale) {
  EXPECT_NO_THROW(amp::check_loss(1.5, {.step = 3}));
  EXPECT_THAT(
      [] {
        amp::check_loss(kNan, {.step = 120, .rank = {2, 4}, .scale = 128});
      },
      ThrowsWith<RuntimeError>("the loss is nan at step 120 on rank 2; the last loss scale was 128"));
  EXPECT_THAT([] { amp::check_loss(-kInfinity, {.step = 7}); }, ThrowsWith<RuntimeError>("the loss is -inf at step 7"));
}

}  // namespace
}  // namespace lockstep::test

// The shapes of schedules, and what comes of joining them. Numbers beside PyTorch's are in parity/schedules.py.
#include <lockstep/optim/schedule.h>

#include <cmath>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/learning_rate.h>

namespace lockstep::optim {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

double rate(const Schedule& schedule, double time) {
  return schedule.rate(time, {.base = 1});
}

TEST(Schedule, AStepDropsAtTheStartOfItsEpochAndNotInIt) {
  const Schedule schedule = step({.every = 30, .factor = 0.5});
  EXPECT_EQ(rate(schedule, 29.99), 1);
  EXPECT_EQ(rate(schedule, 30), 0.5);
  EXPECT_EQ(rate(schedule, 60), 0.25);
}

TEST(Schedule, MilestonesMayComeInAnyOrderAndTwice) {
  const Schedule schedule = multi_step({.milestones = {60, 30, 60}, .factor = 0.5});
  EXPECT_EQ(rate(schedule, 59), 0.5);
  EXPECT_EQ(rate(schedule, 60), 0.125);
}

TEST(Schedule, ALengthIsFollowedByItsLastRate) {
  EXPECT_EQ(rate(cosine({.length = 10, .minimum = 0.25}), 1000), 0.25);
  EXPECT_EQ(rate(polynomial({.length = 10, .power = 2}), 1000), 0);
  EXPECT_EQ(rate(one_cycle({.length = 10, .start_divisor = 2, .end_divisor = 4}), 1000), 0.125);
  EXPECT_EQ(rate(warm_up({.length = 10}), 1000), 1);
}

TEST(Schedule, ACosineIsHalfWayInTheMiddleAndKnowsFractions) {
  const Schedule schedule = cosine({.length = 5, .minimum = 0.2});
  EXPECT_THAT(rate(schedule, 2.5), DoubleNear(0.6, 1e-15));
  EXPECT_LT(rate(schedule, 2.6), rate(schedule, 2.5));
}

TEST(Schedule, RestartsJumpBackToTheBaseRate) {
  const Schedule schedule = cosine_restarts({.length = 4, .growth = 2});
  EXPECT_EQ(rate(schedule, 4), 1);
  EXPECT_THAT(rate(schedule, 8), DoubleNear(0.5, 1e-15));
  EXPECT_EQ(rate(schedule, 12), 1);
  EXPECT_LT(rate(cosine_restarts({.length = 4}), 7.99), 0.001);
}

TEST(Schedule, AOneCycleTooShortToRiseBeginsAtTheTop) {
  EXPECT_EQ(rate(one_cycle({.length = 3, .rise = 1.0 / 3}), 0), 1);
  EXPECT_EQ(rate(one_cycle({.length = 1}), 0), 1 / 25e4);
}

TEST(Schedule, TheSecondCountsFromTheEndOfTheFirst) {
  const Schedule schedule =
      warm_up({.length = 5, .from = 0.5}) + constant({.factor = 2, .length = 3}) + step({.every = 2});
  EXPECT_EQ(rate(schedule, 0), 0.5);
  EXPECT_EQ(rate(schedule, 2.5), 0.75);
  EXPECT_EQ(rate(schedule, 5), 2);
  EXPECT_EQ(rate(schedule, 9), 1);
  EXPECT_EQ(rate(schedule, 10), 0.1);
  EXPECT_EQ((warm_up({.length = 5}) + cosine({.length = 85})).length(), 90);
}

TEST(Schedule, AFactorLeavesTheOthersMilestonesWhereTheyAre) {
  const Schedule schedule = warm_up({.length = 4, .from = 0.5}) * multi_step({.milestones = {2, 30}, .factor = 0.5});
  EXPECT_EQ(rate(schedule, 0), 0.5);
  EXPECT_EQ(rate(schedule, 2), 0.375);
  EXPECT_EQ(rate(schedule, 29), 0.5);
  EXPECT_EQ(rate(schedule, 30), 0.25);
}

TEST(Schedule, WhatNeverEndsCannotBeFollowedNorBeAFactor) {
  EXPECT_THAT([] { return step({.every = 3}) + constant(); }, ThrowsMessage<UsageError>(HasSubstr("never ends")));
  EXPECT_THAT([] { return step({.every = 3}) * constant(); }, ThrowsMessage<UsageError>(HasSubstr("with an end")));
}

TEST(Schedule, AUsersCurveJoinsOurs) {
  const Schedule own([](double time, const RateContext& context) { return context.base * (1 + time); }, 2);
  EXPECT_EQ(rate(own + constant(), 1.5), 2.5);
  EXPECT_EQ(rate(own + constant(), 2), 1);
}

TEST(Schedule, RefusesOptionsThatMakeNoSense) {
  EXPECT_THAT([] { return cosine({}); }, ThrowsMessage<UsageError>(HasSubstr("the length of the schedule cosine")));
  EXPECT_THAT([] { return step({.every = std::nan("")}); }, ThrowsMessage<UsageError>(HasSubstr("above 0")));
  EXPECT_THAT([] { return plateau({.factor = 1}); }, ThrowsMessage<UsageError>(HasSubstr("between 0 and 1")));
  EXPECT_THAT([] { return warm_up({.length = 2, .from = 2}); }, ThrowsMessage<UsageError>(HasSubstr("0 to 1")));
  EXPECT_THAT([] { return multi_step({.milestones = {-1}}); }, ThrowsMessage<UsageError>(HasSubstr("milestone")));
  EXPECT_THAT([] { return one_cycle({.length = 5, .rise = 2}); }, ThrowsMessage<UsageError>(HasSubstr("rise")));
  EXPECT_THAT([] { return cosine_restarts({.length = 5, .growth = 0.5}); },
              ThrowsMessage<UsageError>(HasSubstr("growth")));
}

TEST(Scaling, MultipliesTheRateAndWarmsUpFromASingleRanks) {
  const Schedule schedule = warm_up({.length = 5}) + constant();
  for (const auto& [scaling, scale] : {std::pair{Scaling::kLinear, 16.0}, std::pair{Scaling::kSquareRoot, 4.0}}) {
    LearningRate learning_rate(schedule, {.rate = 0.5, .ranks = 16, .scaling = scaling});
    EXPECT_EQ(learning_rate.rate(), 0.5);
    learning_rate.move_to({.step = 500, .epoch = 5});
    EXPECT_EQ(learning_rate.rate(), 0.5 * scale);
    EXPECT_EQ(learning_rate.rate(0.25), 0.25 * scale);
  }
}

// As the loop of Horovod's example of ImageNet has it.
TEST(Scaling, IsHorovodsWarmUpWithItsEpochs) {
  constexpr int kRanks = 8, kWarmUp = 5, kSteps = 10;
  LearningRate learning_rate(
      warm_up({.length = kWarmUp}) * multi_step({.milestones = {30, 60, 80}}),
      {.rate = 0.0125, .ranks = kRanks, .scaling = Scaling::kLinear, .clock = Clock::kEpochFractions});
  for (int step = 0; step < 90 * kSteps; ++step) {
    const double epoch = static_cast<double>(step) / kSteps;
    double factor = epoch < 30 ? 1 : epoch < 60 ? 1e-1 : epoch < 80 ? 1e-2 : 1e-3;
    if (epoch < kWarmUp) factor = 1.0 / kRanks * (epoch * (kRanks - 1) / kWarmUp + 1);
    learning_rate.move_to({.step = step, .epoch = epoch});
    EXPECT_THAT(learning_rate.rate(), DoubleNear(0.0125 * kRanks * factor, 1e-15)) << epoch;
  }
}

TEST(Scaling, OffersTheNearestName) {
  EXPECT_EQ(parse_scaling("sqrt"), Scaling::kSquareRoot);
  EXPECT_THAT([] { parse_scaling("liner"); }, ThrowsMessage<UsageError>(HasSubstr("did you mean 'linear'?")));
}

TEST(LearningRate, CountsWhatItsClockSays) {
  const Position position{.step = 25, .epoch = 2.5};
  const auto rate_by = [&](Clock clock) {
    LearningRate learning_rate(polynomial({.length = 100}), {.rate = 100, .clock = clock});
    learning_rate.move_to(position);
    return learning_rate.rate();
  };
  EXPECT_EQ(rate_by(Clock::kEpochs), 98);
  EXPECT_EQ(rate_by(Clock::kEpochFractions), 97.5);
  EXPECT_EQ(rate_by(Clock::kSteps), 75);
}

TEST(LearningRate, RefusesARateOrRanksThatMakeNoSense) {
  EXPECT_THAT([] { LearningRate(constant(), {.rate = 0}); }, ThrowsMessage<UsageError>(HasSubstr("above 0")));
  EXPECT_THAT([] { LearningRate(constant(), {.ranks = 0}); }, ThrowsMessage<UsageError>(HasSubstr("0 ranks")));
}

}  // namespace
}  // namespace lockstep::optim

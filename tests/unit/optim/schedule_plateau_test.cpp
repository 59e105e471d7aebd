#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/learning_rate.h>

namespace lockstep::optim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The epochs whose metric lowered the rate.
std::vector<int> reductions(LearningRate& learning_rate, int from, const std::vector<double>& metrics) {
  std::vector<int> epochs;
  for (int epoch = from; epoch < from + static_cast<int>(metrics.size()); ++epoch) {
    learning_rate.move_to({.step = epoch, .epoch = static_cast<double>(epoch)});
    if (learning_rate.observe(metrics[static_cast<std::size_t>(epoch - from)])) epochs.push_back(epoch);
  }
  return epochs;
}

LearningRate with(const PlateauOptions& options) {
  return LearningRate(plateau(options), {.rate = 1});
}

TEST(Plateau, ReducesAfterMoreThanPatienceEpochsWithoutImprovement) {
  LearningRate learning_rate = with({.factor = 0.5, .patience = 2});
  EXPECT_THAT(reductions(learning_rate, 0, {5, 5, 5, 5, 5, 5, 5}), ElementsAre(3, 6));
  EXPECT_EQ(learning_rate.rate(), 0.25);
}

TEST(Plateau, ImprovementMustPassTheThreshold) {
  LearningRate relative = with({.patience = 0, .threshold = 0.1});
  EXPECT_THAT(reductions(relative, 0, {10, 9.5, 8.9}), ElementsAre(1));
  LearningRate absolute = with({.patience = 0, .threshold = 1, .threshold_is_rate = false});
  EXPECT_THAT(reductions(absolute, 0, {10, 9.1, 8.9}), ElementsAre(1));
  LearningRate accuracy = with({.maximize = true, .patience = 0});
  EXPECT_THAT(reductions(accuracy, 0, {0.5, 0.6, 0.55}), ElementsAre(2));
}

TEST(Plateau, CooldownEpochsDoNotCount) {
  LearningRate learning_rate = with({.patience = 0, .cooldown = 2});
  EXPECT_THAT(reductions(learning_rate, 0, {1, 1, 1, 1, 1}), ElementsAre(1, 4));
}

TEST(Plateau, StopsAtTheMinimumAndThenSaysNothing) {
  LearningRate learning_rate = with({.factor = 0.1, .patience = 0, .minimum = 0.05});
  EXPECT_THAT(reductions(learning_rate, 0, {1, 1, 1, 1}), ElementsAre(1, 2));
  EXPECT_EQ(learning_rate.rate(), 0.05);
}

TEST(Plateau, NotANumberIsNoImprovementAndNeverTheBest) {
  LearningRate learning_rate = with({.patience = 1});
  EXPECT_THAT(reductions(learning_rate, 0, {std::nan(""), 3, std::nan(""), 2, std::nan(""), std::nan("")}),
              ElementsAre(5));
}

TEST(Plateau, LooksAtNothingBeforeTheWarmUpIsOver) {
  for (const Schedule& schedule :
       {warm_up({.length = 3}) + plateau({.patience = 1}), warm_up({.length = 3}) * plateau({.patience = 1})}) {
    LearningRate learning_rate(schedule, {.rate = 1});
    EXPECT_THAT(reductions(learning_rate, 0, {1, 2, 2, 5, 5, 5}), ElementsAre(5));
  }
}

TEST(Plateau, ARestoredOneGoesOnAsIfItHadNeverStopped) {
  const std::vector<double> metrics = {9, 8, 8, 8, 7, 7, 7, 7, 7, 7, 7, 6, 6, 6, 6, 6};
  const Schedule schedule = warm_up({.length = 2}) + plateau({.factor = 0.5, .patience = 1, .cooldown = 1});
  for (std::size_t cut = 0; cut < metrics.size(); ++cut) {
    LearningRate whole(schedule, {}), first(schedule, {}), second(schedule, {});
    reductions(whole, 0, metrics);
    reductions(first, 0, {metrics.begin(), metrics.begin() + static_cast<std::ptrdiff_t>(cut)});
    second.load_state(first.state());
    EXPECT_EQ(second.rate(), first.rate());
    reductions(second, static_cast<int>(cut), {metrics.begin() + static_cast<std::ptrdiff_t>(cut), metrics.end()});
    EXPECT_EQ(second.state(), whole.state()) << cut;
    EXPECT_EQ(second.rate(), whole.rate()) << cut;
  }
}

TEST(LearningRateState, RefusesWhatItDoesNotKnowAndStaysAsItWas) {
  LearningRate learning_rate(constant(), {});
  learning_rate.move_to({.step = 7, .epoch = 1.5});
  const auto good = learning_rate.state();
  auto missing = good, unknown = good, negative = good;
  missing.erase("epoch");
  unknown["plateau_bda"] = 1;
  negative["plateau_bad"] = -1;
  EXPECT_THAT([&] { learning_rate.load_state(missing); }, ThrowsMessage<UsageError>(HasSubstr("no 'epoch'")));
  EXPECT_THAT([&] { learning_rate.load_state(unknown); }, ThrowsMessage<UsageError>(HasSubstr("'plateau_bad'?")));
  EXPECT_THAT([&] { learning_rate.load_state(negative); }, ThrowsMessage<UsageError>(HasSubstr("from 0 up")));
  EXPECT_EQ(learning_rate.state(), good);
}

TEST(LearningRateState, RefusesNumbersThatCannotBe) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  LearningRate learning_rate = with({});
  learning_rate.move_to({.step = 7, .epoch = 1.5});
  learning_rate.observe(3);
  const auto good = learning_rate.state();
  for (const char* name : {"step", "epoch", "plateau_bad", "plateau_best"}) {
    std::vector<double> wrong = {std::nan("")};
    if (std::string(name) != "plateau_best") wrong.insert(wrong.end(), {kInfinity, -1, -kInfinity, 1e19});
    for (const double value : wrong) {
      auto bad = good;
      bad[name] = value;
      EXPECT_THAT([&] { learning_rate.load_state(bad); },
                  ThrowsMessage<UsageError>(HasSubstr(std::string("'") + name + "'")))
          << value;
      EXPECT_EQ(learning_rate.state(), good);
    }
  }
  auto late = good;
  late["step"] = 1e15;
  learning_rate.load_state(late);
  EXPECT_EQ(learning_rate.position().step, 1'000'000'000'000'000);
}

}  // namespace
}  // namespace lockstep::optim

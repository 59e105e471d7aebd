// Training is killed at random moments, again and again, and ends with the parameters of a run that nobody disturbed.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "full_set.h"
#include "running_command.h"
#include "training_run.h"

namespace lockstep::test {
namespace {

constexpr auto kLimit = std::chrono::minutes(2);

class KilledTraining : public ::testing::TestWithParam<int> {};

TEST_P(KilledTraining, EndsAsOneThatNobodyDisturbed) {
  const int ranks = GetParam();
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const TemporaryFolder folder;
  const auto calm = folder.path() / "calm", killed = folder.path() / "killed";
  RunningCommand undisturbed(training_command(calm, ranks));
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(undisturbed.wait(kLimit), 0) << undisturbed.err();
  const auto whole = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  ASSERT_FALSE(trained_model(calm).empty());

  const int wanted = full_set() ? 25 : 1, most = full_set() ? 200 : 3;  // in the middle of training; in all
  int during = 0, kill = 0;
  for (; during < wanted && kill < most; ++kill) {
    std::filesystem::remove_all(killed / "logs");
    RunningCommand training(training_command(killed, ranks));
    // Most of a start goes by before the first step; a run that comes to its end begins anew.
    const auto moment = std::uniform_int_distribution<std::int64_t>(whole.count() / 4, whole.count())(random);
    std::this_thread::sleep_for(std::chrono::milliseconds(moment));
    const std::vector<int> processes = training.processes();
    if (!processes.empty()) {
      const auto victim = std::uniform_int_distribution<std::size_t>(0, processes.size() - 1)(random);
      ::kill(processes[victim], SIGKILL);
    }
    training.wait(kLimit);
    const std::int64_t reached = newest_step(killed);
    during += reached > 0 && reached < kRunSteps ? 1 : 0;
    if (reached == kRunSteps) {
      EXPECT_EQ(trained_model(killed), trained_model(calm)) << "after kill " << kill;
      std::filesystem::remove_all(killed);
    }
  }
  std::cout << during << " of " << kill << " kills in the middle of training\n";
  RunningCommand last(training_command(killed, ranks));
  ASSERT_EQ(last.wait(kLimit), 0) << last.err();
  EXPECT_EQ(trained_model(killed), trained_model(calm));
}

INSTANTIATE_TEST_SUITE_P(Ranks, KilledTraining, ::testing::Values(1, 2));

}  // namespace
}  // namespace lockstep::test

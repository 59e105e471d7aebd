// A rank dies at a random moment in a random way, and the others die of it within moments: the one that died first is
// named, every time.
#include <algorithm>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "running_job.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// How a rank dies: by a signal, or by itself with an exit code.
struct Blow {
  int signal = 0;
  int exit_code = 0;

  void strike(int pid) const {
    if (signal != 0) {
      ::kill(pid, signal);
    } else {
      ::sigqueue(pid, SIGUSR2, {.sival_int = exit_code});  // rank_in_touch does as it is told
    }
  }
  int expected_code() const { return signal != 0 ? 128 + signal : exit_code; }
  std::string words() const {
    return signal != 0 ? fmt::format("was ended by signal {} (", signal)
                       : fmt::format("exited with code {} after", exit_code);
  }
};

constexpr Blow kBlows[] = {{.signal = SIGKILL}, {.signal = SIGSEGV}, {.signal = SIGBUS},
                           {.signal = SIGABRT}, {.exit_code = 1},    {.exit_code = 42}};

class RandomKills : public ::testing::Test {
 protected:
  void SetUp() override {
    seed_ = std::random_device()();
    random_.seed(seed_);
    std::cout << "seed " << seed_ << "\n";
  }

  int choose(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  static Words rank(const Marks& marks) { return {program_path("../tests/rank_in_touch"), marks.folder().string()}; }

  // Strikes one of `ranks` at a random moment of their first; `launchers.front()` must say so, and all of them end.
  void strike_one(const Marks& marks, int ranks, std::vector<RunningCommand*> launchers) {
    const auto pids = marks.await("up", static_cast<std::size_t>(ranks));
    ASSERT_EQ(pids.size(), static_cast<std::size_t>(ranks)) << launchers.front()->err();
    const int victim = choose(0, ranks - 1);
    const Blow& blow = kBlows[choose(0, std::size(kBlows) - 1)];
    std::this_thread::sleep_for(std::chrono::microseconds(choose(0, 40'000)));
    const auto struck = Clock::now();
    blow.strike(pids.at(victim));
    for (RunningCommand* launcher : launchers) EXPECT_EQ(launcher->wait(kSoon), blow.expected_code());
    times_.push_back(Clock::now() - struck);
    EXPECT_THAT(launchers.front()->err(),
                AllOf(HasSubstr(fmt::format("rank {} of {} failed first: it {}", victim, ranks, blow.words())),
                      HasSubstr(fmt::format(", pid {}, at ", pids.at(victim)))));
    for (const RunningCommand* launcher : launchers) EXPECT_THAT(launcher->processes(), ::testing::IsEmpty());
  }

  void TearDown() override {
    ASSERT_FALSE(times_.empty());
    std::sort(times_.begin(), times_.end());
    std::cout << fmt::format("{} kills; from the kill to the launcher's end: median {} ms, worst {} ms\n",
                             times_.size(), times_[times_.size() / 2] / 1ms, times_.back() / 1ms);
    EXPECT_LT(times_.back(), kPromised);
  }

  unsigned seed_ = 0;
  std::mt19937 random_;
  std::vector<Clock::duration> times_;
};

TEST_F(RandomKills, OnOneNode_NameTheRankThatDiedFirst) {
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("kill {} of seed {}", i, seed_));
    const Marks marks;
    const int ranks = choose(2, 4);
    RunningCommand launcher(run_words({"-n", std::to_string(ranks)}, rank(marks)));
    strike_one(marks, ranks, {&launcher});
  }
}

TEST_F(RandomKills, OnTwoNodes_NameTheRankThatDiedFirst) {
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("kill {} of seed {}", i, seed_));
    const Marks marks;
    const int ranks = choose(2, 4);
    const std::string port = free_port();
    const auto words = [&](const char* node) {
      return run_words({"-n", std::to_string(ranks), "--nnodes", "2", "--node-rank", node, "--master-addr", "127.0.0.1",
                        "--master-port", port},
                       rank(marks));
    };
    const std::map<std::string, std::string> home = {{"HOME", marks.folder().string()}};
    RunningCommand leader(words("0"), home);
    RunningCommand other(words("1"), home);
    strike_one(marks, ranks, {&leader, &other});
  }
}

}  // namespace
}  // namespace lockstep::test

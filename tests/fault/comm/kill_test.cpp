// A rank that dies, or stops for good: every other rank throws, in time, and names it.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <gmock/gmock.h>

#include "command.h"
#include "full_set.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Whether something in /dev/shm bears the number of a process.
bool has_shared_memory(const std::string& pid) {
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().find(pid) != std::string::npos) return true;
  }
  return false;
}

// Which backend, and how many times before.
class KilledRank : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  void start(int ranks) {
    launcher_ = ::fork();
    ASSERT_GE(launcher_, 0);
    if (launcher_ == 0) {
      const std::string program = program_path("lockstep");
      const std::string worker = program_path("../tests/reducing_rank");
      ::execl(program.c_str(), "lockstep", "run", "-n", std::to_string(ranks).c_str(), "--", worker.c_str(),
              folder_.path().c_str(), std::get<0>(GetParam()), nullptr);
      ::_exit(127);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("pid", rank)); }, 60s));
    }
  }

  void TearDown() override {
    ::kill(launcher_, SIGKILL);
    ::waitpid(launcher_, nullptr, 0);
  }

  std::filesystem::path file(const std::string& kind, int rank) const {
    return folder_.path() / (kind + "." + std::to_string(rank));
  }

  int launcher_ = -1;
  TemporaryFolder folder_;
};

TEST_P(KilledRank, MakesEveryOtherRankThrowWithinFiveSeconds) {
  constexpr int kRanks = 3;
  start(kRanks);
  const int victim = 1;
  ::kill(std::stoi(content(file("pid", victim))), SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  for (const int rank : {0, 2}) {
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file("error", rank)); }, 5s)) << "rank " << rank;
    EXPECT_THAT(content(file("error", rank)),
                AllOf(HasSubstr("all_reduce"), HasSubstr("rank 1 ("), HasSubstr("was lost")));
  }
  EXPECT_FALSE(has_shared_memory(content(file("pid", victim))));
  RecordProperty("milliseconds", static_cast<int>((std::chrono::steady_clock::now() - killed) / 1ms));
}

TEST_P(KilledRank, AndAllOthersLeaveNothingBehind) {
  constexpr int kRanks = 3;
  start(kRanks);
  std::vector<std::string> pids;
  for (int rank = 0; rank < kRanks; ++rank) pids.push_back(content(file("pid", rank)));
  for (const std::string& pid : pids) ::kill(std::stoi(pid), SIGKILL);
  for (const std::string& pid : pids) {
    EXPECT_TRUE(eventually([&] { return !process_runs(std::stoi(pid)); }, 5s));
    EXPECT_FALSE(has_shared_memory(pid));
  }
}

std::vector<const char*> backends() {
#ifdef LOCKSTEP_HAS_CCL
  return {"local", "gloo", "ccl"};
#else
  return {"local", "gloo"};
#endif
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, KilledRank,
                         ::testing::Combine(::testing::ValuesIn(backends()), ::testing::Range(0, repetitions())),
                         [](const auto& test) {
                           return std::get<0>(test.param) + std::string("_") + std::to_string(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace lockstep::test

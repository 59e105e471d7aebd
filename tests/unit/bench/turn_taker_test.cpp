#include "bench/turn_taker.h"

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

#include "command.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::test {
namespace {

using bench::TurnTaker;
using std::chrono::seconds;

constexpr auto kReady = "echo '{\"parameters\": 3, \"about\": \"sh\"}'; ";

std::vector<std::string> shell(const std::string& script) {
  return {"sh", "-c", script};
}

TEST(TurnTaker, IsAskedAndAnswersWithTheEnvironmentThatItWasGiven) {
  TurnTaker taker(
      shell(std::string(kReady) +
            "while read s; do echo \"{\\\"samples_per_second\\\": $s, \\\"peak_memory\\\": $BYTES}\"; done"),
      {{"BYTES", "77"}});
  EXPECT_EQ(taker.wait_until_ready(seconds(60)).parameters, 3);
  for (const double asked : {0.5, 2.0}) {
    const auto turn = taker.take(std::chrono::duration<double>(asked));
    EXPECT_EQ(turn.samples_per_second, asked);
    EXPECT_EQ(turn.peak_memory, 77);
  }
}

TEST(TurnTaker, ThatEnds_IsAnErrorWithItsLastWords) {
  TurnTaker early(shell("echo first >&2; echo 'No module named torch' >&2"));
  EXPECT_THAT([&] { early.wait_until_ready(seconds(60)); }, ThrowsWith<RuntimeError>("No module named torch"));
  TurnTaker late(shell(std::string(kReady) + "read s"));
  late.wait_until_ready(seconds(60));
  EXPECT_THAT([&] { late.take(seconds(1)); }, ThrowsWith<RuntimeError>("ended before its turn"));
  TurnTaker missing({"lockstep-no-such-program"});
  EXPECT_THAT([&] { missing.wait_until_ready(seconds(60)); }, ThrowsWith<RuntimeError>("No such file"));
}

TEST(TurnTaker, ThatSaysNothing_IsNotWaitedForLongerThanItMay) {
  TurnTaker taker(shell("exec sleep 1000"));
  EXPECT_THAT([&] { taker.wait_until_ready(seconds(1)); }, ThrowsWith<RuntimeError>("does not answer in time"));
}

TEST(TurnTaker, ThatWritesWithoutAnEnd_IsLeft) {
  TurnTaker taker(shell("tr '\\0' a < /dev/zero"));
  EXPECT_THAT([&] { taker.wait_until_ready(seconds(60)); }, ThrowsWith<RuntimeError>("without an end"));
}

TEST(TurnTaker, IsEndedWithAllThatItStarted) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "pid";
  {
    TurnTaker taker(shell("sleep 1000 & echo $! > " + file + "; " + kReady + "read s"));
    taker.wait_until_ready(seconds(60));
  }
  const int started = std::stoi(files::read(file));
  EXPECT_TRUE(eventually([&] { return !process_runs(started); }, seconds(60)));
}

}  // namespace
}  // namespace lockstep::test

// Training that is asked to stop, that has no room for checkpoints, or that finds damaged ones.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <regex>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

#include "running_command.h"
#include "training_run.h"

namespace lockstep::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kLimit = std::chrono::minutes(2);
const std::vector<std::string> kEndless = {"steps=100000", "checkpoint.every_steps=0", "checkpoint.every_epochs=0"};

// Whether a process has a handler for a signal, as the kernel has it.
bool catches(int pid, int signal) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string name; status >> name;) {
    std::uint64_t mask = 0;
    if (name == "SigCgt:" && status >> std::hex >> mask) return (mask >> (signal - 1) & 1) != 0;
  }
  return false;
}

class Asked : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Asked, StopsWithACheckpointAndGoesOnBitByBit) {
  const int ranks = std::get<0>(GetParam()), signal = std::get<1>(GetParam());
  const TemporaryFolder folder;
  const auto calm = folder.path() / "calm", asked = folder.path() / "asked";
  RunningCommand training(training_command(asked, ranks, kEndless));
  ASSERT_TRUE(
      eventually([&] { return content(asked / "metrics.jsonl").find("\"step\":20,") != std::string::npos; }, kLimit))
      << training.err();
  training.signal(signal);
  ASSERT_EQ(training.wait(kLimit), kExitTryAgain) << training.err();
  EXPECT_THAT(training.out(), HasSubstr("with the same command and --resume auto"));
  const std::int64_t step = newest_step(asked);
  ASSERT_GE(step, 20);

  const std::string last = std::to_string(step + 5);
  const auto with_end = [&](const auto& output) { return training_command(output, ranks, {"steps=" + last}); };
  const CommandResult resumed = run_command(with_end(asked)), whole = run_command(with_end(calm));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("going on from"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const auto model = [&](const auto& output) { return content(output / "checkpoints" / last / "model.safetensors"); };
  ASSERT_FALSE(model(calm).empty());
  EXPECT_EQ(model(asked), model(calm));
}

// The lock of the run's folder, which the test has, holds up a start after data was opened and the model made.
TEST_P(Asked, BeforeTheFirstStep_EndsAtOnceAndLosesNothing) {
  const int ranks = std::get<0>(GetParam()), signal = std::get<1>(GetParam());
  const TemporaryFolder folder;
  ASSERT_EQ(run_command(training_command(folder.path(), ranks, {"steps=2"})).exit_code, 0);
  const UniqueFd lock(::open((folder.path() / ".lockstep.lock").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  RunningCommand training(training_command(folder.path(), ranks));
  ASSERT_TRUE(eventually([&] { return training.err().find("waiting up to") != std::string::npos; }, kLimit))
      << training.err();
  training.signal(signal);
  EXPECT_EQ(training.wait(kLimit), kExitTryAgain) << training.err();
  EXPECT_THAT(training.err(), HasSubstr("asked to stop before the first step: nothing is lost"));
  EXPECT_EQ(newest_step(folder.path()), 2);
  EXPECT_TRUE(eventually([&] { return training.processes().empty(); }, kLimit));
}

TEST(AskedWhileRanksMeet, EndsAtOnce) {
  const TemporaryFolder folder;
  RunningCommand alone(
      training_command(folder.path(), 0),
      {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", free_port()}});
  ASSERT_TRUE(eventually([&] { return catches(alone.pid(), SIGTERM); }, kLimit)) << alone.err();
  alone.signal(SIGTERM);
  EXPECT_EQ(alone.wait(kLimit), kExitTryAgain) << alone.err();
}

INSTANTIATE_TEST_SUITE_P(Signals, Asked,
                         ::testing::Values(std::tuple(1, SIGTERM), std::tuple(2, SIGTERM), std::tuple(2, SIGUSR1)));

TEST(SecondRun, IsRefusedTheFolderOfOneThatLives_AndGoesOnAfterItsDeath) {
  const TemporaryFolder folder;
  RunningCommand first(training_command(folder.path(), 2, {"steps=100000"}));
  ASSERT_TRUE(eventually([&] { return newest_step(folder.path()) >= 2; }, kLimit)) << first.err();
  const CommandResult second = run_command(training_command(folder.path(), 1));
  EXPECT_EQ(second.exit_code, kExitUsage) << second.err;
  EXPECT_THAT(second.err, HasSubstr("another run is under way in '" + folder.path().string() + "'"));
  std::smatch pid;
  ASSERT_TRUE(std::regex_search(second.err, pid, std::regex("found: pid ([0-9]+) on "))) << second.err;
  EXPECT_THAT(first.processes(), Contains(std::stoi(pid[1])));

  ::kill(std::stoi(pid[1]), SIGKILL);
  ASSERT_NE(first.wait(kLimit), 0);
  const std::int64_t step = newest_step(folder.path());
  const CommandResult third = run_command(training_command(folder.path(), 1, {"steps=" + std::to_string(step + 2)}));
  EXPECT_EQ(third.exit_code, 0) << third.err;
}

TEST(TimeLimit, IsNotReachedWithoutACheckpoint) {
  const TemporaryFolder folder;
  auto settings = kEndless;
  settings.insert(settings.end(), {"stop.minutes=0.05", "stop.margin_seconds=1"});
  const CommandResult result = run_command(training_command(folder.path(), 1, settings));
  EXPECT_EQ(result.exit_code, kExitTryAgain) << result.err;
  EXPECT_GT(newest_step(folder.path()), 0);
}

TEST(DamagedCheckpoint, IsPassedOverInWords) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_command(training_command(folder.path(), 1, {"steps=6", "checkpoint.keep_last=3"})).exit_code, 0);
  const auto newest = folder.path() / "checkpoints" / "6" / "model.safetensors";
  std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1, std::ios::end);
  const char last = static_cast<char>(file.get() ^ 1);
  file.seekp(-1, std::ios::end);
  file.put(last);
  file.close();
  const CommandResult result = run_command(training_command(folder.path(), 1, {"steps=8"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("checkpoints/6 is passed over"));
  EXPECT_THAT(result.err, HasSubstr("checkpoints/5: epoch"));
}

TEST(OtherConfig, IsRefusedWithTheDifference) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_command(training_command(folder.path(), 1, {"steps=2"})).exit_code, 0);
  const CommandResult result = run_command(training_command(folder.path(), 1, {"optimizer.lr=0.02"}));
  EXPECT_EQ(result.exit_code, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("optimizer.lr: 0.01 then, 0.02 now"));
  EXPECT_EQ(newest_step(folder.path()), 2) << "nothing is lost";
}

// Two ranks that were started with other words each.
CommandResult run_with_different(const std::vector<std::string>& settings) {
  const TemporaryFolder folder;
  std::string line;
  for (const std::string& word : training_command(folder.path(), 0)) line += word + " ";
  for (const std::string& setting : settings) line += "--set " + setting + " ";
  return run_command({program_path("lockstep"), "run", "-n", "2", "--", "sh", "-c", line});
}

TEST(DifferentConfigs, AreNamedWithEveryKeyAndItsRanks_ByOneOfThem) {
  const CommandResult result = run_with_different({"optimizer.momentum=0.$RANK", "seed=$RANK"});
  EXPECT_EQ(result.exit_code, kExitUsage) << result.err;
  EXPECT_THAT(result.err, HasSubstr("[0/2] error: ranks have different configs: 2 keys differ\n"));
  EXPECT_THAT(result.err, HasSubstr("seed (0 on rank 0, 1 on rank 1)"));
  EXPECT_THAT(result.err, HasSubstr("optimizer.momentum (0 on rank 0, 0.1 on rank 1)"));
  EXPECT_THAT(result.err, Not(HasSubstr("[1/2] error: ")));
}

// Who sits at the second one would not know why it ended.
TEST(DifferentConfigs, AreNamedInTheTerminalOfEachNode) {
  const TemporaryFolder folder;
  const std::string port = free_port();
  const auto node = [&](const std::string& number) {
    auto command = training_command(folder.path() / "run", 0, {"seed=" + number});
    command.insert(command.end(), {"--dist-url", "tcp://127.0.0.1:" + port, "--world-size", "2", "--rank", number,
                                   "--ranks-per-node", "1"});
    return command;
  };
  RunningCommand first(node("0")), second(node("1"));
  EXPECT_EQ(first.wait(kLimit), kExitUsage) << first.err();
  EXPECT_EQ(second.wait(kLimit), kExitUsage) << second.err();
  for (const RunningCommand* each : {&first, &second}) {
    EXPECT_THAT(each->err(), HasSubstr("seed (0 on rank 0, 1 on rank 1)"));
  }
}

TEST(DifferentConfigs, WhenTheyAreMany_AreCounted) {
  std::vector<std::string> settings = {"name=a$RANK"};
  for (const char* key : {"seed", "log_every", "data.workers", "data.prefetch", "data.max_bad", "checkpoint.keep_last",
                          "evaluation.batch_size_per_rank", "stop.margin_seconds", "epochs"}) {
    settings.push_back(std::string(key) + "=1$RANK");
  }
  const CommandResult result = run_with_different(settings);
  EXPECT_THAT(result.err, HasSubstr("10 keys differ\n"));
  EXPECT_THAT(result.err, HasSubstr(" and 2 more\n"));
}

// A file system of its own, of few bytes, that no other process sees.
CommandResult run_on_small_disk(const std::filesystem::path& mount_point, const std::string& size,
                                const std::vector<std::string>& command) {
  std::string line = "mount -t tmpfs -o size=" + size + " none " + mount_point.string() + " &&";
  for (const std::string& word : command) line += " '" + word + "'";
  line += "; code=$?; ls " + (mount_point / "checkpoints").string() + "; exit $code";
  return run_command({"unshare", "--mount", "sh", "-c", line});
}

TEST(FullDisk, EndsTrainingWhereThereIsNoGoodCheckpoint) {
  const TemporaryFolder folder;
  const CommandResult result = run_on_small_disk(folder.path(), "64k", training_command(folder.path(), 1));
  EXPECT_EQ(result.exit_code, kExitFailure) << result.err;
  EXPECT_THAT(result.err, HasSubstr("could not be written, and there is no other to go back to"));
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
}

TEST(FullDisk, IsAWarningWhereThereIsOne) {
  const TemporaryFolder folder;
  // Room for some: a checkpoint takes 1 MB with its average and momentum.
  const CommandResult result = run_on_small_disk(
      folder.path(), "4m", training_command(folder.path(), 1, {"checkpoint.keep_last=100", "checkpoint.at_end=false"}));
  EXPECT_THAT(result.err, HasSubstr("training goes on, the last good one is of step"));
  EXPECT_THAT(result.err, Not(HasSubstr("another process"))) << "the one that failed is in the way of the next one";
  EXPECT_THAT(result.out, HasSubstr("training is done"));
}

TEST(NotFiniteGradients, EndTrainingWithTheStepTheRankAndTheTensor) {
  const TemporaryFolder folder;
  const CommandResult result = run_command(training_command(folder.path(), 1, {"optimizer.lr=1e30"}));
  EXPECT_EQ(result.exit_code, kExitFailure) << result.err;
  EXPECT_THAT(result.err, HasSubstr("gradients are not finite in step 2"));
  EXPECT_THAT(result.err, HasSubstr("found: rank 0: fc"));
}

class FailedRun : public ::testing::TestWithParam<int> {};

TEST_P(FailedRun, LeavesItsErrorInTheLogsAndAReport) {
  const int ranks = GetParam();
  const TemporaryFolder folder;
  const CommandResult result =
      run_command(training_command(folder.path(), ranks, {"optimizer.lr=1e30", "log_every=1"}));
  EXPECT_EQ(result.exit_code, kExitFailure) << result.err;
  ASSERT_THAT(content(folder.path() / "metrics.jsonl"), HasSubstr("\"step\":1,"));
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_THAT(content(folder.path() / "logs" / ("rank-" + std::to_string(rank) + ".log")),
                HasSubstr("error: gradients are not finite in step 2"));
  }
  EXPECT_THAT(content(folder.path() / "report.html"), HasSubstr("<html"));
}

INSTANTIATE_TEST_SUITE_P(Ranks, FailedRun, ::testing::Values(1, 2));

TEST(UnwritableFolder, IsNamedBeforeTrainingBegins) {
  const CommandResult result = run_command(training_command("/proc/lockstep-run", 1));
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("cannot make the folder of the run, '/proc/lockstep-run'\n  found: No such file"));
}

}  // namespace
}  // namespace lockstep::test

// The comparison with PyTorch as a user meets it. With PyTorch itself: tests/parity/compare.py.
#include <csignal>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "running_command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CommandResult compare(std::vector<std::string> words, const CommandOptions& options = {}) {
  words.insert(words.begin(), {program_path("lockstep"), "bench", "compare"});
  return run_command(words, options);
}

TEST(BenchCompare, MeasuresOursAlone) {
  const CommandResult result =
      compare({"--models", "mnist:4", "--rounds", "2", "--seconds", "0.02", "--alone", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("mnist, round 2 of 2: lockstep "));
  const auto value = nlohmann::json::parse(result.out);
  EXPECT_EQ(value.at("kind"), "compare");
  const auto& row = value.at("rows").at(0);
  EXPECT_EQ(row.at("model"), "mnist");
  EXPECT_EQ(row.at("batch"), 4);
  EXPECT_EQ(row.at("lockstep").at("rounds").size(), 2U);
  EXPECT_GT(row.at("lockstep").at("samples_per_second"), 0);
  EXPECT_GT(row.at("lockstep").at("peak_memory"), 10'000'000);
  EXPECT_TRUE(row.at("pytorch").empty());
}

TEST(BenchCompare, OnTwoRanks) {
  const TemporaryFolder folder;
  const std::string file = folder.path() / "compare.json";
  const CommandResult result = compare(
      {"--models", "mnist:2", "--rounds", "1", "--seconds", "0.02", "--alone", "--ranks", "2", "--json=" + file});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("2 ranks"), HasSubstr("mnist")));
  EXPECT_EQ(nlohmann::json::parse(content(file)).at("ranks"), 2);
}

TEST(BenchCompare, ThatIsKilled_LeavesNobodyBehind) {
  RunningCommand command({program_path("lockstep"), "bench", "compare", "--models", "mnist:2", "--rounds", "1000",
                          "--seconds", "0.05", "--alone", "--ranks", "2"});
  ASSERT_TRUE(
      eventually([&] { return command.err().find("round 1 of") != std::string::npos; }, std::chrono::seconds(50)))
      << command.err();
  EXPECT_GT(command.processes().size(), 2U);
  command.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return command.processes().empty(); }, std::chrono::seconds(30)));
}

// A python3 without torch.
TEST(BenchCompare, WithoutPyTorchSaysSoAndGoesOn) {
  const TemporaryFolder folder;
  const auto python =
      folder.write("python3", "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const CommandResult result =
      compare({"--models", "mnist:2", "--rounds", "1", "--seconds", "0.02"},
              {.environment = {{"PATH", folder.path().string() + ":/usr/bin:/bin"}, {"LOCKSTEP_PARITY_PYTHON", ""}}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("PyTorch is not measured, our own figures follow (python3: it has no torch)"));
  EXPECT_THAT(result.out, HasSubstr("mnist"));
}

TEST(BenchCompare, RefusesWhatIsUnknownWithTheNearest) {
  EXPECT_THAT(compare({"--models", "alexnett"}).err, HasSubstr("did you mean 'alexnet'?"));
  EXPECT_THAT(compare({"--engine", "fusd"}).err, HasSubstr("did you mean 'fused'?"));
  const CommandResult python = compare({"--python", "lockstep-no-python", "--models", "mnist"});
  EXPECT_EQ(python.exit_code, 2);
  EXPECT_THAT(python.err, HasSubstr("there is no PyTorch to compare with"));
}

}  // namespace
}  // namespace lockstep::test

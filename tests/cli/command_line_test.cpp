// The command as a user meets it: help, mistakes, exit codes.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

CommandResult lockstep(std::vector<std::string> arguments, const CommandOptions& options = {}) {
  arguments.insert(arguments.begin(), program_path("lockstep"));
  return run_command(arguments, options);
}

TEST(Command, HelpGoesToStdout) {
  const CommandResult result = lockstep({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("run"), HasSubstr("info")));
  EXPECT_THAT(lockstep({"run", "--help"}).out, HasSubstr("--ranks"));
}

TEST(Command, TellsItsVersion) {
  EXPECT_THAT(lockstep({"--version"}).out, StartsWith("lockstep 0."));
}

TEST(Command, AnUnknownVerbIsOneMessageWithTheNearestName) {
  const CommandResult result = lockstep({"rnu"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(result.err, "error: lockstep: unknown command 'rnu'; did you mean 'run'?\n  next: lockstep --help\n");
}

TEST(Command, AnUnknownFlagIsOneMessageWithTheNearestName) {
  EXPECT_EQ(lockstep({"info", "--jsno"}).err,
            "error: lockstep info: unknown flag '--jsno'; did you mean '--json'?\n  next: lockstep info --help\n");
  EXPECT_EQ(lockstep({"run", "-n", "2", "--lable", "true"}).exit_code, 2);
  EXPECT_EQ(lockstep({"--bogus"}).exit_code, 2);
}

TEST(Command, AFlagWithoutItsValue_OrGivenTwice_IsToldInWords) {
  EXPECT_EQ(lockstep({"run", "-n"}).err, "error: lockstep run: --ranks needs a value\n  next: lockstep run --help\n");
  EXPECT_EQ(lockstep({"run", "-n", "2", "-n", "3", "--", "true"}).err,
            "error: lockstep run: --ranks is given more than once\n  next: lockstep run --help\n");
}

TEST(Command, NoVerbIsAMistake) {
  EXPECT_EQ(lockstep({}).exit_code, 2);
  EXPECT_EQ(lockstep({}).err, "error: lockstep: a command is missing\n  next: lockstep --help\n");
}

TEST(Info, SaysWhichKernelsRun_AndRefusesALevelThatIsNone) {
  const auto with_level = [](const char* level) {
    return lockstep({"info"}, {.environment = {{"LOCKSTEP_KERNEL_LEVEL", level}}});
  };
  EXPECT_THAT(with_level("base").out, HasSubstr("our own: base"));
  const CommandResult wrong = with_level("avx22");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("did you mean 'avx2'"), HasSubstr("base, avx2 or avx512")));
}

TEST(Info, IsReadableAndValidJson) {
  EXPECT_THAT(lockstep({"info"}).out,
              AllOf(HasSubstr("cpu:"), HasSubstr("backends:"), HasSubstr("launch environment:")));
  const CommandResult result = lockstep({"info", "--json"});
  ASSERT_TRUE(nlohmann::json::accept(result.out)) << result.out;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["build"]["libtorch"].get<std::string>().substr(0, 4), "2.11");
  EXPECT_GE(json["cpu"]["cores"], 1);
  EXPECT_EQ(json["backends"][0]["name"], "local");
  EXPECT_THAT(result.err, IsEmpty());
}

TEST(Info, SaysWhatTheLaunchEnvironmentSays) {
  const CommandResult result =
      lockstep({"info"}, {.environment = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a\x1b"}}});
  EXPECT_THAT(result.out, AllOf(HasSubstr("rank 1 of 2"), HasSubstr("a\\x1b")));
  const CommandResult wrong = lockstep({"info"}, {.environment = {{"RANK", "7"}, {"WORLD_SIZE", "2"}}});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("RANK=7"));
}

TEST(Bench, MeasuresAllReduceAndChecksItsResult) {
  const CommandResult result =
      lockstep({"bench", "allreduce", "-n", "2", "--sizes", "4K,64K", "--time", "20", "--json"});
  ASSERT_TRUE(nlohmann::json::accept(result.out)) << result.out << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_EQ(json["rows"][1]["bytes"], 65536);
  EXPECT_GT(json["rows"][1]["busbw_gb_per_s"], 0);
  EXPECT_EQ(json["rows"][1]["correct"], true);
}

TEST(Bench, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(lockstep({"bench", "allreduce", "--sizes", "4Q"}).err, HasSubstr("4Q"));
  EXPECT_THAT(lockstep({"bench", "allreduce", "--sizes", "1M:1K"}).err, HasSubstr("1M:1K"));
  EXPECT_THAT(lockstep({"bench", "allreduce", "--backend", "lokal"}).err, HasSubstr("did you mean 'local'?"));
  EXPECT_THAT(lockstep({"bench", "alreduce"}).err, HasSubstr("did you mean 'allreduce'?"));
  EXPECT_THAT(lockstep({"bench", "allreduce", "-n", "zero"}).err, HasSubstr("'zero'"));
  for (const char* wrong : {"4Q", "", "0", "3", "65G", "1K:"}) {
    EXPECT_EQ(lockstep({"bench", "allreduce", "--sizes", wrong}).exit_code, 2) << wrong;
  }
}

TEST(BenchStep, ComparesModesInOneRun) {
  const CommandResult result =
      lockstep({"bench", "step", "-n", "2", "--model", "mnist", "--batch", "2", "--mode",
                "none,ddp,optimizer,zero,sync", "--rounds", "2", "--seconds", "0.05", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["ranks"], 2);
  EXPECT_GT(report["samples_per_second"], 0);
  ASSERT_EQ(report["modes"].size(), 5);
  EXPECT_EQ(report["modes"][1]["mode"], "ddp");
  EXPECT_GT(report["modes"][1]["kept"], 0);
  EXPECT_EQ(report["modes"][0]["kept"], 1);
  const CommandResult text = lockstep({"bench", "step", "--model", "mnist", "--batch", "2", "--mode", "data-parallel",
                                       "--rounds", "1", "--seconds", "0.05"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("samples/s"), HasSubstr("mnist, batch 2 on each of 1 rank")));
}

TEST(BenchStep, TellsWhereTheTimeGoesByOperation) {
  const std::vector<std::string> command = {"bench",    "step", "--operations", "--model", "mnist", "--batch", "4",
                                            "--rounds", "1",    "--seconds",    "0.02"};
  EXPECT_THAT(lockstep(command).out, AllOf(HasSubstr("floor ms"), HasSubstr("outside of operations")));
  auto with_json = command;
  with_json.emplace_back("--json");
  const auto row = nlohmann::json::parse(lockstep(with_json).out)["modes"][0];
  EXPECT_GT(row["peak_gigaflops"], 0);
  EXPECT_EQ(row["operations"].back()["operation"], "outside of operations");
}

TEST(BenchStep, ClimbsTheLadder) {
  const std::vector<std::string> command = {"bench",    "step", "--ladder", "--model", "mnist",     "--batch", "8",
                                            "--rounds", "1",    "--mode",   "none",    "--seconds", "0.02"};
  auto with_json = command;
  with_json.emplace_back("--json");
  const CommandResult result = lockstep(with_json);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  ASSERT_EQ(report["rungs"].size(), 6);
  EXPECT_EQ(report["rungs"][0]["speedup"], 1);
  EXPECT_EQ(report["rungs"][4]["rung"], "+ fused engine");
  EXPECT_EQ(report["rungs"][5]["rung"], "bf16");
  for (const auto& rung : report["rungs"]) EXPECT_GT(rung["samples_per_second"], 0);
  EXPECT_THAT(lockstep(command).out,
              AllOf(HasSubstr("fp32, 1 thread"), HasSubstr("+ fused SGD"), HasSubstr("samples/s")));
}

TEST(BenchStep, SaysWhatACpuDoesNotHave) {
  EXPECT_THAT(lockstep({"bench", "step", "--model", "mnist", "--graph"}).err, HasSubstr("a CPU has no CUDA graphs"));
  EXPECT_THAT(lockstep({"bench", "step", "--model", "mnist", "--precision", "O9"}).err,
              HasSubstr("unknown precision 'O9'"));
  EXPECT_THAT(lockstep({"bench", "step", "--engine", "fussed"}).err, HasSubstr("did you mean 'fused'?"));
  EXPECT_THAT(lockstep({"bench", "step", "--operations", "--device", "cuda"}).err, HasSubstr("on a CPU only"));
  EXPECT_THAT(lockstep({"bench", "step", "--nvtx", "op"}).err, HasSubstr("did you mean 'ops'?"));
  EXPECT_THAT(lockstep({"bench", "step", "--model", "mnist", "--precision", "bf16", "--batch", "7", "--rounds", "1",
                        "--seconds", "0.02"})
                  .err,
              HasSubstr("hint: a batch of 7 is no multiple of 8"));
}

TEST(BenchStep, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(lockstep({"bench", "step", "--mode", "dpp"}).err, HasSubstr("did you mean 'ddp'?"));
  EXPECT_THAT(lockstep({"bench", "step", "--model", "resnet51"}).err, HasSubstr("did you mean 'resnet"));
  EXPECT_THAT(lockstep({"bench", "step", "--stem", "cifra"}).err, HasSubstr("cifra"));
  EXPECT_EQ(lockstep({"bench", "step", "--batch", "0"}).exit_code, 2);
  EXPECT_EQ(lockstep({"bench", "step", "-n", "2", "--model", "mnist", "--mode", "data-parallel"}).exit_code, 2);
}

TEST(Run, RefusesANumberOfRanksThatMakesNoSense) {
  for (const char* ranks : {"0", "-1", "two", "99999999999"}) {
    const CommandResult result = lockstep({"run", "-n", ranks, "--", "true"});
    EXPECT_EQ(result.exit_code, 2) << ranks;
    EXPECT_THAT(result.err, StartsWith("error: ")) << ranks;
  }
}

TEST(Run, RefusesAProgramThatCannotBe) {
  const TemporaryFolder folder;
  const std::string script = folder.write("script", "#!/bin/sh\n").string();
  EXPECT_THAT(lockstep({"run", "-n", "2", "--", "no-such-program"}).err, HasSubstr("is not in PATH"));
  EXPECT_THAT(lockstep({"run", "-n", "2", "--", "./no-such-program"}).err, HasSubstr("does not exist"));
  EXPECT_THAT(lockstep({"run", "-n", "2", "--", "/"}).err, HasSubstr("is a folder"));
  EXPECT_THAT(lockstep({"run", "-n", "2", "--", script}).err, HasSubstr("is not executable"));
  EXPECT_THAT(lockstep({"run", "-n", "2"}).err, HasSubstr("no program to run"));
  EXPECT_EQ(lockstep({"run", "-n", "2", "--", "no-such-program"}).exit_code, 2);
}

TEST(Run, ExplainsAScriptWithoutInterpreter) {
  const TemporaryFolder folder;
  const auto script = folder.write("script", "echo hello\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const CommandResult result = lockstep({"run", "-n", "1", "--", script.string()});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("#!/bin/sh"));
}

TEST(Run, PassesArgumentsUntouched) {
  const std::string sees = "printf '[%s]' \"$@\"";
  EXPECT_EQ(lockstep({"run", "-n", "1", "--", "sh", "-c", sees, "sh", "a b", "--", "-n", "$HOME", ""}).out,
            "[a b][--][-n][$HOME][]\n");
  EXPECT_EQ(lockstep({"run", "-n", "1", "echo", "--ranks"}).out, "--ranks\n");
}

TEST(Run, GivesEachRankItsPlace) {
  const std::string tells =
      "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR; test $MASTER_PORT -gt 0";
  const CommandResult result = lockstep({"run", "-n", "3", "--", "sh", "-c", tells});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* line : {"0/3 0/3 127.0.0.1\n", "1/3 1/3 127.0.0.1\n", "2/3 2/3 127.0.0.1\n"}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
}

TEST(Run, LetsAllRanksSpeakWhenAsked) {
  const std::vector<std::string> program = {"--", "sh", "-c", "echo \"log: $LOCKSTEP_LOG\""};
  const auto logs = [&](std::vector<std::string> flags, const CommandOptions& options) {
    flags.insert(flags.begin(), {"run", "-n", "1"});
    flags.insert(flags.end(), program.begin(), program.end());
    return lockstep(flags, options).out;
  };
  EXPECT_EQ(logs({}, {.environment = {{"LOCKSTEP_LOG", "error"}}}), "log: error\n");
  EXPECT_EQ(logs({"--all-ranks"}, {.environment = {{"LOCKSTEP_LOG", "error"}}}), "log: error,all\n");
}

TEST(Run, DividesTheCoresUnlessTheUserHas) {
  const CommandResult divided = lockstep({"run", "-n", "1000", "--", "sh", "-c", "test $OMP_NUM_THREADS = 1"});
  EXPECT_EQ(divided.exit_code, 0);
  EXPECT_THAT(divided.err, HasSubstr("warning: 1,000 ranks on"));
  EXPECT_EQ(lockstep({"run", "-n", "1", "--", "sh", "-c", "test $OMP_NUM_THREADS = 7"},
                     {.environment = {{"OMP_NUM_THREADS", "7"}}})
                .exit_code,
            0);
}

TEST(Run, ReturnsTheProgramsOwnExitCode) {
  const CommandResult result = lockstep({"run", "-n", "2", "--", "sh", "-c", "test $RANK = 0 || exit 3; sleep 60"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("rank 1 of 2"), HasSubstr("exited with code 3")));
  EXPECT_FALSE(result.timed_out);
}

}  // namespace
}  // namespace lockstep::test

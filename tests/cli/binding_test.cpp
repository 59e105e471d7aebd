// lockstep run --bind and its company, as a user meets them.
#include <gmock/gmock.h>

#include <lockstep/base/cpu_list.h>
#include <lockstep/base/topology.h>

#include "command.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

CommandResult run(std::vector<std::string> arguments, const CommandOptions& options = {}) {
  arguments.insert(arguments.begin(), {program_path("lockstep"), "run"});
  return run_command(arguments, options);
}

// Prints "RANK: LIST" for the cpus that it may run on.
const std::vector<std::string> kTellCpus = {"--", "sh", "-c",
                                            "echo \"$RANK: $(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status)\""};

CommandResult run_telling_cpus(std::vector<std::string> flags) {
  flags.insert(flags.end(), kTellCpus.begin(), kTellCpus.end());
  return run(flags);
}

class BindTwoRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cores.size() < 2) GTEST_SKIP() << "this machine has one core";
  }
  std::string share(std::size_t rank) const {
    std::vector<int> cpus;
    for (std::size_t i = 0; i < cores.size() / 2; ++i) cpus.push_back(cores[rank * (cores.size() / 2) + i].cpus[0]);
    std::sort(cpus.begin(), cpus.end());
    return format_cpu_list(cpus);
  }
  const std::vector<Core> cores = read_topology().usable;
};

TEST_F(BindTwoRanks, ByCore_IsWhatTheKernelSays) {
  if (read_topology().numa_nodes.size() > 2) GTEST_SKIP() << "shares are counted by node here";
  const CommandResult result = run_telling_cpus({"-n", "2", "--bind", "core"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("0: " + share(0) + "\n"), HasSubstr("1: " + share(1) + "\n")));
}

TEST_F(BindTwoRanks, ByMasks_IsWhatTheMasksSay) {
  const int first = cores[0].cpus[0], second = cores[1].cpus[0];
  if (second >= 60) GTEST_SKIP() << "the masks below are short";
  const std::string masks = fmt::format("masks={:#x},{:#x}", 1ULL << second, 1ULL << first);
  EXPECT_THAT(run_telling_cpus({"-n", "2", "--bind", masks}).out,
              AllOf(HasSubstr(fmt::format("0: {}\n", second)), HasSubstr(fmt::format("1: {}\n", first))));
}

TEST_F(BindTwoRanks, ByNone_LeavesThemFree) {
  std::vector<int> all;
  for (const Core& core : cores) all.insert(all.end(), core.cpus.begin(), core.cpus.end());
  std::sort(all.begin(), all.end());
  const std::string free = format_cpu_list(all);
  EXPECT_THAT(run_telling_cpus({"-n", "2", "--bind", "none"}).out,
              AllOf(HasSubstr("0: " + free + "\n"), HasSubstr("1: " + free + "\n")));
}

TEST(Bind, TellsLibrariesOfTheCores) {
  const CommandResult result = run({"-n", "1", "--threads", "3", "--", "sh", "-c",
                                    "echo $OMP_NUM_THREADS $MKL_NUM_THREADS; test -n \"$KMP_BLOCKTIME\""},
                                   {.environment = {{"MKL_NUM_THREADS", "2"}}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "3 2\n");
  EXPECT_EQ(result.err, "kept as you have set it: MKL_NUM_THREADS=2 (3 would fit)\n");
}

// hwloc takes another machine's description from HWLOC_SYNTHETIC. docs/pinning.md shows this output.
TEST(ShowBinding, PrintsTheTableAndStartsNothing) {
  const TemporaryFolder folder;
  const std::string trace = (folder.path() / "started").string();
  const CommandResult result =
      run({"-n", "2", "--threads", "24", "--cores-for-comm", "4", "--show-binding", "--", "touch", trace},
          {.environment = {{"HWLOC_SYNTHETIC", "pack:2 numa:1 core:28 pu:2(indexes=2*56:1*2)"}}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(trace));
  EXPECT_EQ(result.out,
            "rank  cpus   threads  comm cpus  NUMA  GPU\n"
            "   0  0-23        24  24-27      0\n"
            "   1  28-51       24  52-55      1\n");
  EXPECT_THAT(content(test::source_path("docs/pinning.md")), HasSubstr(result.out));
}

TEST(ShowBinding, NeedsNoProgram) {
  EXPECT_EQ(run({"-n", "1", "--show-binding"}).exit_code, 0);
}

TEST(Bind, RefusesWhatMakesNoSense) {
  EXPECT_THAT(run({"-n", "2", "--bind", "coer", "--", "true"}).err, HasSubstr("did you mean 'core'?"));
  EXPECT_THAT(run({"-n", "2", "--bind", "masks=0x1", "--", "true"}).err, HasSubstr("one mask for each rank"));
  EXPECT_THAT(run({"-n", "2", "--threads-per-core", "3", "--", "true"}).err, HasSubstr("--threads-per-core"));
  EXPECT_THAT(run({"-n", "2000", "--bind", "core", "--", "true"}).err,
              AllOf(HasSubstr("2,000 ranks x 1 core = 2,000 cores"), Not(HasSubstr("they will take turns"))));
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"--bind", "coer"}, {"--bind", "masks=0x"}, {"--threads", "0"}, {"--cores-for-comm", "-1"}}) {
    std::vector<std::string> words = {"-n", "2"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    words.insert(words.end(), {"--", "true"});
    EXPECT_EQ(run(words).exit_code, 2) << wrong[0] << " " << wrong[1];
  }
}

}  // namespace
}  // namespace lockstep::test

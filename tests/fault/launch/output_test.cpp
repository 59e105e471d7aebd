// What ranks print: whose it is, where it goes, and that no line is torn.
#include <unistd.h>

#include <csignal>
#include <set>

#include <fmt/format.h>

#include "running_job.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

CommandResult run_script(const Words& flags, const std::string& text) {
  return run_command(run_words(flags, script(text)));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Output, OfEachRank_IsLabelled) {
  const CommandResult result = run_script({"-n", "3", "--label"}, "echo out of $RANK; echo err of $RANK >&2");
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(result.out, HasSubstr(fmt::format("[{0}/3] out of {0}\n", rank)));
    EXPECT_THAT(result.err, HasSubstr(fmt::format("[{0}/3] err of {0}\n", rank)));
  }
}

TEST(Output, CanBeThatOfTheFirstRankAlone) {
  const CommandResult first = run_script({"-n", "3", "--output", "first"}, "echo out $RANK; echo err $RANK >&2");
  EXPECT_EQ(first.out, "out 0\n");
  EXPECT_THAT(first.err, AllOf(HasSubstr("err 0\n"), Not(HasSubstr("err 1")), Not(HasSubstr("err 2"))));
  const CommandResult none = run_script({"-n", "3", "--output", "none"}, "echo out $RANK");
  EXPECT_EQ(none.out, "");
}

TEST(Output, GoesIntoFilesByNodeAndRank) {
  const TemporaryFolder folder;
  const std::filesystem::path logs = folder.path() / "a" / "b";
  const CommandResult result = run_script({"-n", "2", "--log-dir", logs.string(), "--output", "none"},
                                          "echo out of $RANK; echo err of $RANK >&2");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof(host) - 1), 0);
  for (const std::string rank : {"0", "1"}) {
    EXPECT_EQ(content(logs / host / rank / "stdout"), "out of " + rank + "\n");
    EXPECT_EQ(content(logs / host / rank / "stderr"), "err of " + rank + "\n");
  }
}

TEST(Output, IntoAFolderThatCannotBeMadeIsRefused) {
  const CommandResult result = run_script({"-n", "2", "--log-dir", "/dev/null/logs"}, "echo started");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("cannot make the folder '/dev/null/logs'"));
  EXPECT_EQ(result.out, "");
}

// Each rank writes its lines in two halves, and long ones among them.
TEST(Output, OfRanksThatSpeakAtOnce_HasWholeLines) {
  const CommandResult result = run_script(
      {"-n", "4", "--label"},
      "long=$(printf %05000d 0 | tr 0 $RANK); i=0; "
      "while [ $i -lt 200 ]; do printf '%s ' $RANK; printf '%s %s\\n' $i $long; i=$((i + 1)); done; printf unended");
  const std::vector<std::string> lines = lines_of(result.out);
  EXPECT_EQ(lines.size(), 4U * 201);
  std::map<char, int> next;
  for (const std::string& line : lines) {
    ASSERT_GT(line.size(), 6U);
    const char rank = line[1];
    const int number = next[rank]++;
    const std::string expected = number == 200
                                     ? fmt::format("[{}/4] unended", rank)
                                     : fmt::format("[{0}/4] {0} {1} {2}", rank, number, std::string(5000, rank));
    ASSERT_EQ(line, expected);
  }
}

TEST(Output, OfAnotherProgramsInput_ReachesRankZero) {
  const CommandResult result =
      run_command({"sh", "-c", "echo hello | " + program_path("lockstep") + " run -n 2 --label -- cat"});
  EXPECT_EQ(result.out, "[0/2] hello\n");
}

TEST(Output, OfTheSummary_ComesLastAndWhole) {
  const CommandResult result = run_script({"-n", "2"}, "test $RANK = 0 && exec sleep 1000; seq 1 200000 >&2; exit 3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, StartsWith("1\n2\n"));
  EXPECT_THAT(result.err, HasSubstr("\n200000\nerror: rank 1 of 2 failed first: it exited with code 3"));
  EXPECT_THAT(result.err, EndsWith("the other ranks were ended\n"));
}

class ChattyRank : public RunningJob {
 protected:
  // Rank 0 never stops, once the launcher has megabytes of it; the others then have `bytes` to say, and mark "done".
  // `reader` gets it all through a pipe.
  void start(int bytes, const std::string& reader) {
    const std::string rank = fmt::format(
        "test $RANK = 0 && {{ yes | head -c 4000000; : > $MARKS/flooded; exec yes; }}; "
        "until test -e $MARKS/flooded; do sleep 0.01; done; "
        "yes | head -c {}; : > $MARKS/done.$RANK.$$; exec sleep 1000",
        bytes);
    launcher_.emplace(
        Words{"sh", "-c", fmt::format("'{}' run -n 3 -- sh -c '{}' | {}", program_path("lockstep"), rank, reader)},
        Environment{{"MARKS", marks_.folder().string()}});
  }
};

TEST_F(ChattyRank, ThatNobodyReads_BlocksNoOther) {
  start(60'000, "sleep 1000");
  EXPECT_EQ(marks_.await("done", 2).size(), 2U);
}

TEST_F(ChattyRank, ThatIsReadSlowly_LeavesOthersTheirShare) {
  start(1'000'000, "while :; do head -c 1000000 > /dev/null; sleep 0.01; done");
  EXPECT_EQ(marks_.await("done", 2).size(), 2U);
}

// As under `| head`.
TEST(Output, ThatNobodyReadsAnyMore_EndsTheJob) {
  const CommandResult result =
      run_command({"bash", "-c", program_path("lockstep") + " run -n 2 -- yes | head -n 1; exit ${PIPESTATUS[0]}"});
  EXPECT_FALSE(result.timed_out);
  EXPECT_EQ(result.exit_code, 128 + SIGPIPE);
  EXPECT_EQ(result.out, "y\n");
}

}  // namespace
}  // namespace lockstep::test

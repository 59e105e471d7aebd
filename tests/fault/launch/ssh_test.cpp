// One command that starts the rest over ssh; what stands for ssh here starts them on this machine.
#include <csignal>

#include <fmt/format.h>

#include "running_job.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OverSsh : public RunningJob {
 protected:
  // A program in place of ssh: its arguments are the host and a line for a shell there.
  std::string ssh(const std::string& text) const {
    const std::filesystem::path path = folder_.write("remote-shell", "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  Words flags(const std::string& hosts, const std::string& program) const {
    return {"--hosts", hosts, "--ssh", program, "--master-addr", "127.0.0.1", "--join-timeout", "20"};
  }

  TemporaryFolder folder_;
};

constexpr const char* kSsh = "exec sh -c \"$2\"";

TEST_F(OverSsh, RanksAreStartedInTheOrderOfTheHosts) {
  const CommandResult result =
      run_command(run_words(flags("far:2,farther:1", ssh("export AT=$1; " + std::string(kSsh))),
                            script("pwd; echo rank $RANK of $WORLD_SIZE at $AT, local $LOCAL_RANK, node $GROUP_RANK")));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("rank 0 of 3 at far, local 0, node 0\n"),
                                HasSubstr("rank 1 of 3 at far, local 1, node 0\n"),
                                HasSubstr("rank 2 of 3 at farther, local 0, node 1\n"),
                                HasSubstr(std::filesystem::current_path().string() + "\n")));
}

TEST_F(OverSsh, TheTokenIsOnNoCommandLineAndInNoVariable) {
  const CommandResult result =
      run_command(run_words(flags("far", ssh("env; echo \"$@\"; " + std::string(kSsh))), {"env"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out + result.err, Not(::testing::ContainsRegex("[0-9a-f]{64}")));
}

TEST_F(OverSsh, AHostThatCannotBeReached_IsNamedAndTheOthersEnd) {
  launcher_.emplace(run_words(flags("far,away", ssh("test $1 = away && { echo Connection refused >&2; exit 255; }; " +
                                                    std::string(kSsh))),
                              script("mark up")),
                    Environment{{"MARKS", marks_.folder().string()}});
  EXPECT_EQ(launcher_->wait(kSoon), 1);
  EXPECT_THAT(launcher_->err(),
              AllOf(HasSubstr("no agent could be started on host 'away'"), HasSubstr("found: Connection refused")));
  EXPECT_TRUE(marks_.of("up").empty());
  EXPECT_TRUE(nothing_is_left(kPromised));
}

TEST_F(OverSsh, AMissingProgram_IsNamedOnceAndEndsTheJobAsTheUsersMistake) {
  const CommandResult result = run_command(run_words(flags("far,farther", ssh(kSsh)), {"/no/such"}));
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("program '/no/such' does not exist"));
}

TEST_F(OverSsh, AKilledRank_IsNamedWithItsLastLines) {
  start(flags("far,farther", ssh(kSsh)), script("mark up; echo here I am >&2; exec sleep 1000"), 2);
  const int victim = marks_.of("up").at(1);
  ASSERT_TRUE(eventually([&] { return launcher_->err().find("here I am") != std::string::npos; }, kSoon));
  ::kill(victim, SIGKILL);
  EXPECT_EQ(launcher_->wait(kPromised), 128 + SIGKILL);
  EXPECT_THAT(launcher_->err(), AllOf(HasSubstr("rank 1 of 2 failed first: it was ended by signal 9"),
                                      HasSubstr(fmt::format("pid {}", victim)), HasSubstr("  | here I am")));
  EXPECT_TRUE(nothing_is_left(kPromised));
}

TEST_F(OverSsh, AKilledLauncher_LeavesNothingOnAnyHost) {
  for (const bool guardian : {true, false}) {
    start(flags("far,farther", ssh(kSsh)), script(kWithRunaway), 2);
    ::kill(guardian ? launcher_->pid() : body(), SIGKILL);
    EXPECT_TRUE(nothing_is_left(kPromised));
    marks_.forget();
  }
}

}  // namespace
}  // namespace lockstep::test

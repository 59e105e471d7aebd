// Jobs on two hosts, one of which is reached over a real ssh. Both are network namespaces of this machine: needs root.
#include <regex>

#include <gmock/gmock.h>

#include "command.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// `on_both` is the launcher with the list of both hosts; `left` counts this job's processes that are still there, and
// `agents` those that watch them.
constexpr const char* kPreamble = R"sh(
  MARK=$((RANDOM + 100000))
  on_both() { exec $LOCKSTEP run --hosts 10.77.0.1,10.77.0.2 --ssh "$TEST_SSH" "$@"; }
  left() { pgrep -f "^sleep $MARK" | wc -l; }
  agents() { pgrep -f "lockstep agent --connect 10.77.0.1" | wc -l; }
  wait_for() { for _ in {1..200}; do [ "$(eval "$1")" = "$2" ] && return; sleep 0.05; done; echo "no: $1 is not $2"; }
)sh";

// Runs a shell script on host a.
CommandResult on_two_hosts(const std::string& script) {
  const TemporaryFolder home;
  const std::string with_ssh = test::source_path("tests/support/with_ssh").string();
  // From a file: a script among the arguments would find itself when it looks for processes.
  const std::string file = home.write("script", kPreamble + script).string();
  return run_command(
      {with_ssh, "bash", file},
      {.environment = {{"HOME", home.path().string()}, {"LOCKSTEP", program_path("lockstep")}}, .limit = 100s});
}

TEST(Ssh, RanksRunOnBothHosts_WithTheFolderAndTheVariablesOfHere) {
  const CommandResult result = on_two_hosts(R"sh(
    cd /usr/lib; export OMP_NUM_THREADS=3 SECRET=private
    $LOCKSTEP run --hosts 10.77.0.1:1,10.77.0.2:2 --ssh "$TEST_SSH" --label -e COLOR='a b' -- \
      sh -c 'echo "$(hostname | tail -c 2) $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK $PWD $OMP_NUM_THREADS $COLOR $SECRET"'
  )sh");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[0/3] a 0/1 0 /usr/lib 3 a b private"));  // its own environment
  EXPECT_THAT(result.out, HasSubstr("[1/3] b 0/2 1 /usr/lib 3 a b \n"));       // what tunes, and no more
  EXPECT_THAT(result.out, HasSubstr("[2/3] b 1/2 1 /usr/lib 3 a b \n"));
}

TEST(Ssh, TheTokenIsInNobodysArguments) {
  const CommandResult result = on_two_hosts(R"sh(
    on_both -- sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" "\n" | grep -cE "^[0-9a-f]{64}$"; true'
  )sh");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "0\n0\n");
}

TEST(Ssh, CollectivesWorkBetweenTheHosts) {
  const CommandResult result = on_two_hosts("(on_both -- " + program_path("../tests/conformance_tests") + ")");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

TEST(Ssh, AFailureElsewhereIsNamedWithItsHostAndItsLastLines) {
  const CommandResult result = on_two_hosts(R"sh(
    (on_both -- sh -c 'test $RANK = 0 && exec sleep 1000; echo it broke >&2; exit 9')
  )sh");
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_THAT(result.err, HasSubstr("rank 1 of 2 failed first: it exited with code 9"));
  EXPECT_TRUE(std::regex_search(result.err, std::regex("where: ls[0-9]+-b, pid [0-9]+"))) << result.err;
  EXPECT_THAT(result.err, HasSubstr("| it broke"));
}

TEST(Ssh, AHostThatDoesNotAnswerIsNamed_AndNothingStarts) {
  const CommandResult result = on_two_hosts(R"sh(
    $LOCKSTEP run --hosts 10.77.0.1,10.77.0.9 --ssh "$TEST_SSH -o ConnectTimeout=1" -- touch $HOME/started
    code=$?; ls $HOME; exit $code
  )sh");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no agent could be started on host '10.77.0.9'"));
  EXPECT_THAT(result.out, Not(HasSubstr("started")));
}

TEST(Ssh, AProgramThatIsMissingThereIsSaidOnce) {
  const CommandResult result = on_two_hosts("(on_both -- /no/such/program); exit $?");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "error: program '/no/such/program' does not exist\n  next: check the path\n");
}

struct Victim {
  const char* name;
  const char* found_by;  // a shell command that prints its process id
};

class SshVictim : public ::testing::TestWithParam<Victim> {};

// Whichever link of the chain is killed, both hosts are clean within five seconds.
TEST_P(SshVictim, LeavesNothingOnEitherHost) {
  const CommandResult result = on_two_hosts(std::string("victim='") + GetParam().found_by + R"sh('
    (on_both -- sh -c "setsid sleep $MARK & exec sleep $MARK") 2>$HOME/job & job=$!
    wait_for left 4
    kill -KILL $(eval "$victim") || ps -ef --forest
    for _ in {1..100}; do [ "$(left) $(agents)" = '0 0' ] && break; sleep 0.05; done
    [ "$(left) $(agents)" = '0 0' ] || ps -ef --forest
    wait $job; echo "the launcher ended with $?"; cat $HOME/job
  )sh");
  EXPECT_TRUE(result.out.starts_with("the launcher ended with ")) << result.out << result.err;
}

INSTANTIATE_TEST_SUITE_P(Chain, SshVictim,
                         ::testing::Values(Victim{"launcher", "echo $job"}, Victim{"its_body", "pgrep -P $job"},
                                           Victim{"ssh", "pgrep -f \"^ssh -F.*10.77.0.2\""},
                                           Victim{"agent", "pgrep -o -f \"lockstep agent --connect 10.77.0.1\""},
                                           Victim{"body_of_the_agent",
                                                  "pgrep -n -f \"lockstep agent --connect 10.77.0.1\""}),
                         [](const ::testing::TestParamInfo<Victim>& victim) { return victim.param.name; });

TEST(Ssh, APulledCableIsNoticedOnBothSides_AndEachNamesTheOther) {
  const CommandResult result = on_two_hosts(R"sh(
    node="$LOCKSTEP run --nnodes 2 --master-addr 10.77.0.1 --master-port 29700"
    ip netns exec $TEST_HOST_B $node --node-rank 1 -- sleep $MARK 2>$HOME/b & b=$!
    $node --node-rank 0 -- sleep $MARK 2>$HOME/a & a=$!
    wait_for left 2
    ip -n $TEST_HOST_B link set eth0 down
    wait $a; echo "a: $? $(cat $HOME/a)"
    wait $b; echo "b: $? $(cat $HOME/b)"
    echo "$(left) left"
  )sh");
  EXPECT_THAT(result.out, ::testing::ContainsRegex("a: 1 error: node 1 .* was lost after .*, and rank 1 of 2 with it"));
  EXPECT_THAT(result.out, HasSubstr("b: 1 error: the node that leads the job (10.77.0.1:29700) was lost"));
  EXPECT_THAT(result.out, HasSubstr("0 left"));
}

}  // namespace
}  // namespace lockstep::test

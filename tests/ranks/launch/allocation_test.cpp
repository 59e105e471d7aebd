// lockstep run inside a real Slurm allocation of two nodes, with no host said. Needs root.
#include <gmock/gmock.h>

#include "command.h"
#include "source_path.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

CommandResult in_slurm(const std::string& script) {
  const TemporaryFolder home;
  const std::string with_slurm = test::source_path("tests/support/with_slurm").string();
  return run_command({with_slurm, "bash", "-c", "LOCKSTEP=" + program_path("lockstep") + "\n" + script},
                     {.environment = {{"HOME", home.path().string()}}, .limit = 110s});
}

// One Slurm for all: its start takes seconds.
TEST(SlurmAllocation, NeedsNoListOfHosts) {
  const CommandResult result = in_slurm(R"sh(
    place='echo $RANK/$WORLD_SIZE on $SLURMD_NODENAME, node $GROUP_RANK of $GROUP_WORLD_SIZE'
    echo == a shell with an allocation
    timeout 30 salloc -Q -N2 -n2 $LOCKSTEP run --ranks-per-node 2 --label -- sh -c "$place"; echo code $?
    echo == a task on each node
    timeout 30 srun -Q -N2 --ntasks-per-node=1 $LOCKSTEP run --ranks-per-node 2 --master-addr 127.0.0.1 -- sh -c "$place"
    echo code $?
    echo == a failure
    timeout 30 salloc -Q -N2 -n2 $LOCKSTEP run -n 2 -- sh -c 'test $RANK = 1 && exit 5; exec sleep 1000'; echo code $?
    echo == collectives
    timeout 60 salloc -Q -N2 -n2 $LOCKSTEP run -n 2 -- )sh" +
                                        program_path("../tests/meeting_rank") +
                                        R"sh( auto 0 0 auto 20000; echo code $?
    echo == too many tasks
    timeout 30 srun -Q -N2 -n4 $LOCKSTEP run -- true; echo code $?
  )sh");
  EXPECT_THAT(result.out, HasSubstr("[0/4] 0/4 on n1, node 0 of 2"));
  EXPECT_THAT(result.out, HasSubstr("[3/4] 3/4 on n2, node 1 of 2"));
  EXPECT_THAT(result.out, HasSubstr("== a task on each node"));
  EXPECT_THAT(result.out.substr(result.out.find("== a task")), HasSubstr("3/4 on n2, node 1 of 2"));
  EXPECT_THAT(result.out, HasSubstr("== a failure\ncode 5\n"));
  EXPECT_THAT(result.err, HasSubstr("rank 1 of 2 failed first: it exited with code 5"));
  EXPECT_THAT(result.out, HasSubstr("the sum is 3 by local"));
  EXPECT_THAT(result.err, HasSubstr("4 tasks on 2 nodes"));
}

}  // namespace
}  // namespace lockstep::test

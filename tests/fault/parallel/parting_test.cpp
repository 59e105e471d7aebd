// Ranks that do not submit the same: what is missing, and where, is named by all who miss it.
#include <gmock/gmock.h>

#include "command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class PartingRank : public ::testing::Test {
 protected:
  // Three ranks, of which rank 1 goes another way.
  CommandResult run(const std::string& way, const std::string& timeout, const std::string& backend = "local") {
    return run_command({program_path("lockstep"), "run", "-n", "3", "--", program_path("../tests/parting_rank"),
                        backend, timeout, way},
                       {.environment = {{"LOCKSTEP_POST_MORTEM", folder_.path().string()}}, .limit = 60s});
  }
  TemporaryFolder folder_;
};

TEST_F(PartingRank, ThatSubmitsAnotherNameIsToldAtOnceOnEveryRank) {
  const CommandResult result = run("name", "600000");
  EXPECT_FALSE(result.timed_out);
  for (const char* rank : {"rank 0: ", "rank 1: ", "rank 2: "}) {
    EXPECT_THAT(result.out, HasSubstr(std::string(rank) + "the ranks do not submit the same operations"));
  }
  EXPECT_THAT(result.out, AllOf(HasSubstr("'accuracy' (allreduce) was submitted by rank 1, and not by ranks 0, 2"),
                                HasSubstr("'loss' (allreduce) was submitted by ranks 0, 2, and not by rank 1")));
}

TEST_F(PartingRank, ThatSubmitsAnotherShapeIsToldAtOnceOnEveryRank) {
  const CommandResult result = run("shape", "600000");
  EXPECT_FALSE(result.timed_out);
  for (const char* rank : {"rank 0: ", "rank 1: ", "rank 2: "}) EXPECT_THAT(result.out, HasSubstr(rank));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("average of float32[2]"), HasSubstr("rank 1: allreduce average of float32[3]")));
}

TEST_F(PartingRank, ThatSubmitsNothingIsNamedAtTheDeadline) {
  const CommandResult result = run("nothing", "1000");
  for (const char* rank : {"rank 0: ", "rank 2: "}) {
    EXPECT_THAT(result.out,
                HasSubstr(std::string(rank) + "allreduce 'loss' (allreduce average of float32[2]) timed out"));
  }
  EXPECT_THAT(result.out, HasSubstr("rank 1 did not submit it"));
}

TEST_F(PartingRank, ThatShutsDownIsNamedAtOnce) {
  const CommandResult result = run("leaves", "600000");
  EXPECT_FALSE(result.timed_out);
  for (const char* rank : {"rank 0: ", "rank 2: "}) EXPECT_THAT(result.out, HasSubstr(rank));
  EXPECT_THAT(result.out,
              HasSubstr("'loss' (allreduce) was submitted by ranks 0, 2, and not by rank 1, of which rank 1 "
                        "shut down"));
}

TEST_F(PartingRank, ThatDoesNotStepIsNamedWithTheParameter) {
  for (const char* backend : {"local", "gloo"}) {
    const CommandResult result = run("step", "1000", backend);
    for (const char* rank : {"rank 0: ", "rank 2: "}) {
      EXPECT_THAT(result.out, HasSubstr(std::string(rank) + "the gradient of 'encoder.weight': all_reduce #"));
    }
    EXPECT_THAT(result.out, AllOf(HasSubstr("timed out after 1.0 s"), HasSubstr("rank 1 has not arrived")));
    EXPECT_THAT(result.out, Not(HasSubstr("rank 1: ")));
  }
}

}  // namespace
}  // namespace lockstep::test

// One rank goes wrong in the middle of training: every rank ends, in time, and says why.
#include <gmock/gmock.h>

#include "command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TrainingRank : public ::testing::TestWithParam<const char*> {
 protected:
  CommandResult run(const std::string& way) {
    const auto begin = std::chrono::steady_clock::now();
    const CommandResult result = run_command(
        {program_path("lockstep"), "run", "-n", "3", "--", program_path("../tests/training_rank"), GetParam(), way},
        {.environment = {{"LOCKSTEP_POST_MORTEM", folder_.path().string()}}, .limit = 60s});
    // Well before the deadline of a collective, 20 s.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s);
    return result;
  }
  TemporaryFolder folder_;
};

TEST_P(TrainingRank, ThatThrowsInForwardEndsTheOthers) {
  const CommandResult result = run("throw");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("[1/3] error: a sample is damaged"), HasSubstr("[0/3] error: all_reduce"),
                                HasSubstr("[2/3] error: all_reduce"), HasSubstr("rank 1 (")));
}

TEST_P(TrainingRank, ThatLeavesParametersOutNamesThem) {
  const CommandResult result = run("unused");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("[1/3] error: on rank 1 backward left parameters without gradient"),
                                HasSubstr("none for second.weight, second.bias"), HasSubstr("[0/3] error: all_reduce"),
                                HasSubstr("[2/3] error: all_reduce")));
}

TEST_P(TrainingRank, ThatDoesNotErrComesToItsEnd) {
  const CommandResult result = run("none");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* rank : {"rank 0: done", "rank 1: done", "rank 2: done"}) EXPECT_THAT(result.out, HasSubstr(rank));
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, TrainingRank, ::testing::Values("local", "gloo"),
                         [](const auto& backend) { return std::string(backend.param); });

}  // namespace
}  // namespace lockstep::test

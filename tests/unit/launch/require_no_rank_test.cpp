#include <lockstep/launch/require_no_rank.h>

#include <list>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "scoped_variable.h"
#include "throws_with.h"

namespace lockstep::launch {
namespace {

using test::ScopedVariable;
using test::ThrowsWith;

class RequireNoRank : public ::testing::Test {
 protected:
  void set(const std::string& name, const char* value) { variables_.emplace_front(name, value); }

  void set_task_of_srun(const char* nodes) {
    set("SLURM_STEP_ID", "0");
    set("SLURM_PROCID", "1");
    set("SLURM_STEP_NUM_TASKS", "2");
    set("SLURM_STEP_NUM_NODES", nodes);
  }

 private:
  std::list<ScopedVariable> variables_;  // the last one is undone first
};

TEST_F(RequireNoRank, RefusesOneOfSeveral_AndSaysWhatMadeItOne) {
  set("RANK", "1");
  set("WORLD_SIZE", "2");
  EXPECT_THAT([] { require_no_rank("-n 4"); },
              ThrowsWith<UsageError>("this is rank 1 of 2 already, and a rank starts no ranks of its own\n"
                                     "  found: -n 4, in a rank of RANK and WORLD_SIZE\n"
                                     "  next: leave out -n 4, and the 2 ranks are one job; or unset RANK and "
                                     "WORLD_SIZE"));
  set("LOCKSTEP_LAUNCHER", "run");
  EXPECT_THAT([] { require_no_rank("-n 4"); },
              ThrowsWith<UsageError>("or start this command once, without lockstep run"));
}

TEST_F(RequireNoRank, TakesAProcessThatIsAlone) {
  EXPECT_NO_THROW(require_no_rank("-n 4"));
  set("RANK", "0");
  set("WORLD_SIZE", "1");
  EXPECT_NO_THROW(require_no_rank("-n 4"));
}

TEST_F(RequireNoRank, TakesAProcessWhoseVariablesTellNoRank) {
  set("WORLD_SIZE", "4");  // as a batch script may set it, for what srun starts
  EXPECT_NO_THROW(require_no_rank("-n 4"));
}

TEST_F(RequireNoRank, TakesATaskOfSrunThatIsANode) {
  set_task_of_srun("2");
  EXPECT_NO_THROW(require_no_rank("-n 4"));
  set("RANK", "1");
  set("WORLD_SIZE", "4");
  set("LOCKSTEP_LAUNCHER", "run");
  EXPECT_THAT([] { require_no_rank("-n 4"); }, ThrowsWith<UsageError>("this is rank 1 of 4 already"));
}

TEST_F(RequireNoRank, RefusesATaskOfSrunBesideOthersOfItsNode) {
  set_task_of_srun("1");
  EXPECT_THAT([] { require_no_rank("-n 4"); }, ThrowsWith<UsageError>("without Slurm"));
}

}  // namespace
}  // namespace lockstep::launch

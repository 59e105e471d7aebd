#include "base/slurm.h"

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

namespace lockstep {
namespace {

using ::testing::ElementsAre;

TEST(SlurmHosts, AreExpanded) {
  EXPECT_THAT(expand_slurm_hosts("login"), ElementsAre("login"));
  EXPECT_THAT(expand_slurm_hosts("n[1-3,07],login"), ElementsAre("n1", "n2", "n3", "n07", "login"));
  EXPECT_THAT(expand_slurm_hosts("nid[0098-0101]-ib"),
              ElementsAre("nid0098-ib", "nid0099-ib", "nid0100-ib", "nid0101-ib"));
  EXPECT_THAT(expand_slurm_hosts("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
}

TEST(SlurmHosts, ThatMakeNoSenseAreRefused) {
  for (const char* list :
       {"", "n[1-", "n[3-1]", "n[a-b]", "n]1[", "a,,b", "n[1-99999999]", "n[]", "r[0-999]n[0-999]"}) {
    EXPECT_THROW(expand_slurm_hosts(list), UsageError) << list;
  }
}

}  // namespace
}  // namespace lockstep

// What only a group with GPUs has; the conformance suite is run on it too.
#include <gmock/gmock.h>

#include "world.h"

namespace lockstep::test {
namespace {

TEST(Nccl, LeavesCpuTensorsToACpuBackend) {
  EXPECT_EQ(world().all_reduce_value(std::int64_t{1}), world().size());
}

}  // namespace
}  // namespace lockstep::test

#include <gmock/gmock.h>

#include "command.h"

namespace lockstep::test {
namespace {

TEST(RingAllReduce, AgreesWithTheLibrarys) {
  for (const char* ranks : {"1", "2", "3"}) {
    const CommandResult result =
        run_command({program_path("lockstep"), "run", "-n", ranks, "--", program_path("ring_all_reduce")});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, ::testing::HasSubstr(std::string("agree on ") + ranks + " ranks"));
  }
}

}  // namespace
}  // namespace lockstep::test

// The demo under mpiexec.hydra: ranks from PMI_RANK and PMI_SIZE.
#include <regex>

#include <gmock/gmock.h>

#include "command.h"

namespace lockstep::test {
namespace {

CommandResult run_demo(const std::string& backend) {
  return run_command({"mpiexec.hydra", "-n", "2", program_path("ccl_demo"), "--backend", backend});
}

std::vector<std::string> losses(const std::string& out) {
  const std::regex pattern("step . of 3 on 2 ranks with \\w+: loss ([0-9.]+)\n");
  return {std::sregex_token_iterator(out.begin(), out.end(), pattern, 1), std::sregex_token_iterator()};
}

TEST(CclDemo, LearnsInThreeStepsUnderHydra) {
  const CommandResult ccl = run_demo("ccl");
  ASSERT_EQ(ccl.exit_code, 0) << ccl.err;
  const auto found = losses(ccl.out);
  ASSERT_EQ(found.size(), 3) << ccl.out;
  EXPECT_LT(std::stod(found[2]), std::stod(found[0]));
  EXPECT_EQ(found, losses(run_demo("gloo").out));
}

}  // namespace
}  // namespace lockstep::test

// On a CPU below the build's base every program says so and stops, before it meets an instruction that is not there.
#include <gmock/gmock.h>

#include "command.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Conroe has SSSE3 but neither SSE4 nor POPCNT.
constexpr const char* kOldCpu = "Conroe";
constexpr const char* kCpuAtTheBase = "Nehalem";

TEST(OlderCpu, IsRefusedInWords) {
  const CommandResult result = run_command({"qemu-x86_64", "-cpu", kOldCpu, program_path("lockstep"), "info"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("this CPU is older than the build's base, x86-64-v2"),
                                HasSubstr("it lacks sse4.1, sse4.2, popcnt"), HasSubstr("next:")));
}

TEST(OlderCpu, AtTheBaseEverythingRuns) {
  const CommandResult result = run_command({"qemu-x86_64", "-cpu", kCpuAtTheBase, program_path("lockstep"), "info"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("x86-64-v2: sse3"), HasSubstr("libtorch's kernels: DEFAULT")));
}

}  // namespace
}  // namespace lockstep::test

// What of gpu can be shown without one.
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/gpu/fitting_batch.h>
#include <lockstep/gpu/ranges.h>
#include <lockstep/gpu/settings.h>
#include <lockstep/gpu/work_stream.h>

namespace lockstep::test {
namespace {

TEST(FittingBatch, FollowsALine) {
  // 100 bytes of model and 10 for each sample.
  const gpu::BatchPeak small{.batch = 4, .bytes = 140}, large{.batch = 8, .bytes = 180};
  EXPECT_EQ(gpu::fitting_batch(small, large, 150), 5);
  EXPECT_EQ(gpu::fitting_batch(small, large, 1100), 96);  // 100, and of that a multiple of 8
  EXPECT_EQ(gpu::fitting_batch(small, large, 90), 0);
}

TEST(FittingBatch, IsBoundedWhereMemoryDoesNotGrow) {
  const gpu::BatchPeak small{.batch = 4, .bytes = 100}, large{.batch = 8, .bytes = 100};
  EXPECT_GT(gpu::fitting_batch(small, large, 1 << 20), 1000);
}

TEST(FittingBatch, AStepThatFitsIsRunOnce) {
  int steps = 0;
  gpu::explain_lack_of_memory(
      at::kCPU, 8, [&] { ++steps; }, [](std::int64_t) { FAIL() << "nothing had to be estimated"; });
  EXPECT_EQ(steps, 1);
}

TEST(Settings, LastAsLongAsTheirGuard) {
  const gpu::Settings before = gpu::settings();
  {
    const gpu::SettingsGuard guard({.tf32_matmul = !before.tf32_matmul,
                                    .tf32_convolutions = !before.tf32_convolutions,
                                    .autotune = !before.autotune,
                                    .deterministic = !before.deterministic});
    EXPECT_NE(gpu::settings().tf32_matmul, before.tf32_matmul);
    EXPECT_NE(gpu::settings().tf32_convolutions, before.tf32_convolutions);
    EXPECT_NE(gpu::settings().autotune, before.autotune);
    EXPECT_NE(gpu::settings().deterministic, before.deterministic);
  }
  EXPECT_EQ(gpu::settings().tf32_matmul, before.tf32_matmul);
  EXPECT_EQ(gpu::settings().tf32_convolutions, before.tf32_convolutions);
  EXPECT_EQ(gpu::settings().autotune, before.autotune);
  EXPECT_EQ(gpu::settings().deterministic, before.deterministic);
}

TEST(Settings, AreLibtorchsByDefault) {
  const gpu::Settings ours, theirs = gpu::settings();
  EXPECT_EQ(ours.tf32_matmul, theirs.tf32_matmul);
  EXPECT_EQ(ours.tf32_convolutions, theirs.tf32_convolutions);
  EXPECT_EQ(ours.autotune, theirs.autotune);
  EXPECT_EQ(ours.deterministic, theirs.deterministic);
}

TEST(Ranges, HaveThreeDegreesOfDetail) {
  EXPECT_EQ(gpu::parse_range_detail("off"), gpu::RangeDetail::kOff);
  EXPECT_EQ(gpu::parse_range_detail("steps"), gpu::RangeDetail::kSteps);
  EXPECT_EQ(gpu::parse_range_detail("ops"), gpu::RangeDetail::kOperators);
  try {
    gpu::parse_range_detail("step");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("did you mean 'steps'?"));
  }
}

TEST(Ranges, NeedNothingWhenSwitchedOff) {
  const gpu::Ranges ranges;
  const auto range = ranges.range("iteration");
}

TEST(WorkStream, IsNothingOnACpu) {
  const gpu::WorkStream stream(at::kCPU);
  const auto on_stream = stream.enter();
  gpu::finish(at::kCPU);
}

}  // namespace
}  // namespace lockstep::test

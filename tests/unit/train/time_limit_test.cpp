#include "train/time_limit.h"

#include <gtest/gtest.h>

#include "scoped_variable.h"

namespace lockstep::test {
namespace {

using std::chrono::seconds;
using train::time_to_stop;

double from_now(std::chrono::system_clock::time_point moment) {
  return std::chrono::duration<double>(moment - std::chrono::system_clock::now()).count();
}

std::string in(int later) {
  return std::to_string(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()) + later);
}

TEST(TimeToStop, IsAMarginBeforeTheLimit) {
  const ScopedVariable none("SLURM_JOB_END_TIME", "");
  EXPECT_EQ(time_to_stop(0, seconds(60)), std::nullopt);
  EXPECT_NEAR(from_now(time_to_stop(10, seconds(60)).value()), 540, 5);
}

TEST(TimeToStop, ComesFromTheSlurmJobIfThatEndsSooner) {
  const ScopedVariable soon("SLURM_JOB_END_TIME", in(300).c_str());
  EXPECT_NEAR(from_now(time_to_stop(0, seconds(60)).value()), 240, 5);
  EXPECT_NEAR(from_now(time_to_stop(60, seconds(60)).value()), 240, 5);
  EXPECT_NEAR(from_now(time_to_stop(2, seconds(60)).value()), 60, 5);
  const ScopedVariable nonsense("SLURM_JOB_END_TIME", "soon");
  EXPECT_EQ(time_to_stop(0, seconds(60)), std::nullopt);
}

}  // namespace
}  // namespace lockstep::test

#include <cmath>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/checkpoint.h>
#include <lockstep/checkpoint/keep.h>

#include "small_checkpoint.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::checkpoint {
namespace {

using test::ThrowsWith;
using test::write_small;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<Candidate> kFive = {{1, 0.9}, {2, 0.5}, {3, 0.9}, {4, std::nan("")}, {5, std::nullopt}};

TEST(Keep, TheLast) {
  EXPECT_THAT(superfluous(kFive, {.last = 2}), ElementsAre(1, 2, 3));
  EXPECT_THAT(superfluous(kFive, {.last = 9}), IsEmpty());
  EXPECT_THAT(superfluous({}, {.last = 1}), IsEmpty());
}

// As the table at the end of a run names it.
TEST(Keep, OfEqualsTheFirst) {
  const std::vector<Candidate> equals = {{1, 0.5}, {2, 0.5}, {3, 0.5}};
  EXPECT_THAT(superfluous(equals, {.last = 1, .best = 1, .metric = "top1"}), ElementsAre(2));
  EXPECT_THAT(superfluous(equals, {.last = 1, .best = 1, .metric = "loss", .larger_is_better = false}), ElementsAre(2));
}

TEST(Keep, TheBestToo) {
  EXPECT_THAT(superfluous(kFive, {.last = 1, .best = 1, .metric = "top1"}), ElementsAre(2, 3, 4));
  EXPECT_THAT(superfluous(kFive, {.last = 1, .best = 2, .metric = "top1"}), ElementsAre(2, 4));
  EXPECT_THAT(superfluous(kFive, {.last = 1, .best = 1, .metric = "loss", .larger_is_better = false}),
              ElementsAre(1, 3, 4));
  EXPECT_THAT(superfluous(kFive, {.last = 1, .best = 9, .metric = "top1"}), ElementsAre(4));
}

TEST(Keep, OneIsAlwaysKept) {
  EXPECT_THAT(superfluous(kFive, {.last = 0}), ElementsAre(1, 2, 3, 4));
}

TEST(Keep, RefusesWhatMakesNoSense) {
  EXPECT_THAT([] { superfluous(kFive, {.last = -1}); }, ThrowsWith<UsageError>("negative"));
  EXPECT_THAT([] { superfluous(kFive, {.best = 1}); }, ThrowsWith<UsageError>("by which metric"));
}

class Prune : public ::testing::Test {
 protected:
  Prune() {
    for (int step = 1; step <= 5; ++step) write_small(checkpoints_, step);
  }
  bool there(int step) const { return std::filesystem::exists(checkpoints_ / std::to_string(step)); }

  const test::TemporaryFolder folder_;
  const std::filesystem::path checkpoints_ = folder_.path() / "checkpoints";
};

TEST_F(Prune, RemovesWhatIsSuperfluous) {
  // The loss becomes smaller from step to step.
  const Pruned pruned = prune(checkpoints_, {.last = 2, .best = 1, .metric = "loss"});
  EXPECT_THAT(pruned.removed, ElementsAre(2, 3));
  EXPECT_EQ(pruned.problem, "");
  for (const int step : {1, 4, 5}) EXPECT_NO_THROW(verify(checkpoints_ / std::to_string(step)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(checkpoints_), {}), 3);
}

TEST_F(Prune, NeverTheOnlyGoodOne) {
  for (const char* step : {"4", "5"}) std::filesystem::resize_file(checkpoints_ / step / kTrainingFile, 3);
  const Pruned pruned = prune(checkpoints_, {.last = 2});
  EXPECT_THAT(pruned.removed, IsEmpty());
  EXPECT_THAT(pruned.problem, HasSubstr("none of those that stay is whole"));
  EXPECT_TRUE(there(1) && there(2) && there(3));
}

TEST_F(Prune, WhatCannotBeReadCountsForNothing) {
  std::filesystem::remove(checkpoints_ / "5" / kManifestName);
  EXPECT_THAT(prune(checkpoints_, {.last = 2}).removed, ElementsAre(1, 2));
  EXPECT_TRUE(there(3) && there(4) && there(5));
}

TEST_F(Prune, WaitsForNoWriter) {
  const Writer writer(checkpoints_, 6);
  EXPECT_THAT([&] { prune(checkpoints_, {.last = 1}); }, ThrowsWith<UsageError>("another process"));
  EXPECT_TRUE(there(1));
}

}  // namespace
}  // namespace lockstep::checkpoint

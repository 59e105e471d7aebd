#include "tensorboard/histogram.h"

#include <gmock/gmock.h>

namespace lockstep::tensorboard {
namespace {

using ::testing::ElementsAre;

TEST(Histogram, ABinHasItsLeftEdge_AndTheLastBothOfThem) {
  const std::vector<double> values = {0, 0.5, 1, 1, 2, 3, 3}, edges = {0, 1, 2, 3};
  const Counted counted = count(values, edges, 0);
  EXPECT_THAT(counted.counts, ElementsAre(0, 2, 2, 3));
  EXPECT_THAT(counted.limits, ElementsAre(0, 1, 2, 3));
}

TEST(Histogram, LeavesOutEmptyBinsAtTheEnds_AndWhatLiesOutside) {
  const std::vector<double> values = {-7, 2.5, 4.5, 99}, edges = {0, 1, 2, 3, 4, 5, 6};
  const Counted counted = count(values, edges, 0);
  EXPECT_THAT(counted.counts, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(counted.limits, ElementsAre(2, 3, 4, 5));
}

TEST(Histogram, JoinsBinsWhereThereAreTooMany) {
  const std::vector<double> values = {0.5, 1.5, 2.5, 3.5, 4.5}, edges = {0, 1, 2, 3, 4, 5};
  const Counted counted = count(values, edges, 2);
  EXPECT_THAT(counted.counts, ElementsAre(0, 2, 2, 1));
  EXPECT_THAT(counted.limits, ElementsAre(0, 2, 4, 5));
}

TEST(Histogram, OfNothingWithinTheEdges_IsEmpty) {
  const std::vector<double> values = {7}, edges = {0, 1};
  EXPECT_TRUE(count(values, edges, 0).counts.empty());
}

TEST(Histogram, HasTheBinsOfTensorFlow) {
  const std::vector<double>& edges = tensorflow_edges();
  EXPECT_EQ(edges.size(), 1549U);  // as many as tensorboardX has
  EXPECT_EQ(edges[774], 0);
  EXPECT_EQ(edges[775], 1e-12);
  EXPECT_EQ(edges[773], -1e-12);
  EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end()));
}

TEST(Histogram, EqualBinsGoFromTheLeastToTheGreatest) {
  EXPECT_THAT(equal_edges(std::vector<double>{3, 1, 2}, 2), ElementsAre(1, 2, 3));
  EXPECT_THAT(equal_edges(std::vector<double>{4}, 2), ElementsAre(3.5, 4, 4.5));
}

}  // namespace
}  // namespace lockstep::tensorboard

// The verbs of Group, exact on every rank.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "world.h"

namespace lockstep {
namespace {

using test::world;

TEST(Group, AllReduce_SumsExactlyOnEveryRank) {
  const at::Tensor value = at::full({1 << 18}, world().rank() + 1, at::kFloat);
  world().all_reduce(value);
  EXPECT_TRUE(value.eq(world().size() * (world().size() + 1) / 2).all().item<bool>());
}

TEST(Group, AllReduce_KnowsEveryReduction) {
  const auto reduced = [](Reduce op) {
    const at::Tensor value = at::full({3}, world().rank() + 1, at::kDouble);
    world().all_reduce(value, op);
    return value[2].item<double>();
  };
  const int n = world().size();
  double factorial = 1;
  for (int i = 2; i <= n; ++i) factorial *= i;
  EXPECT_EQ(reduced(Reduce::kSum), n * (n + 1) / 2);
  EXPECT_EQ(reduced(Reduce::kAverage), (n + 1) / 2.0);
  EXPECT_EQ(reduced(Reduce::kProduct), factorial);
  EXPECT_EQ(reduced(Reduce::kMin), 1);
  EXPECT_EQ(reduced(Reduce::kMax), n);
}

TEST(Group, Broadcast_CopiesTheRootsTensor) {
  for (int root = 0; root < world().size(); ++root) {
    const at::Tensor value = at::full({5}, world().rank(), at::kLong);
    world().broadcast(value, root);
    EXPECT_TRUE(value.eq(root).all().item<bool>());
  }
}

TEST(Group, TakesChannelsLastInPlace) {
  const at::Tensor value =
      at::full({2, 3, 4, 4}, world().rank(), at::kFloat).contiguous(at::MemoryFormat::ChannelsLast);
  world().all_reduce(value, Reduce::kMax);
  EXPECT_TRUE(value.eq(world().size() - 1).all().item<bool>());
}

TEST(Group, RefusesWhatItCannotDo_OnEveryRankAndInTime) {
  EXPECT_THROW(world().all_reduce(at::Tensor()), UsageError);
  EXPECT_THROW(world().all_reduce(at::zeros({4, 4}).slice(1, 0, 2)), UsageError);
  EXPECT_THROW(world().all_reduce(at::zeros({4}, at::kLong), Reduce::kAverage), UsageError);
  EXPECT_THROW(world().broadcast(at::zeros({4}), world().size()), UsageError);
  EXPECT_THROW(world().broadcast(at::zeros({4}), -1), UsageError);
  world().barrier();  // and the group still works
}

}  // namespace
}  // namespace lockstep

// Horovod's names, as a program of Horovod's uses them. The World here is hvd's own.
#include <gmock/gmock.h>
#include <torch/torch.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/hvd.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

bool every(const torch::Tensor& tensor, double value) {
  return tensor.eq(value).all().item<bool>();
}

int sum_of_ranks() {
  return hvd::size() * (hvd::size() - 1) / 2;
}

TEST(Hvd, RanksOfOneNodeAreAllLocal) {
  EXPECT_EQ(hvd::local_rank(), hvd::rank());
  EXPECT_EQ(hvd::local_size(), hvd::size());
  EXPECT_EQ(hvd::cross_rank(), 0);
  EXPECT_EQ(hvd::cross_size(), 1);
}

TEST(Hvd, ASecondInitIsRefused) {
  EXPECT_THAT([] { hvd::init(); }, ThrowsWith<UsageError>("hvd is initialized already"));
}

TEST(Hvd, AllreduceHasEveryOperation) {
  const int n = hvd::size();
  const auto mine = torch::full({5}, hvd::rank() + 1.0);
  EXPECT_TRUE(every(hvd::allreduce(mine, "average"), (n + 1) / 2.0));
  EXPECT_TRUE(every(hvd::allreduce(mine, "sum", hvd::Sum), sum_of_ranks() + n));
  EXPECT_TRUE(every(hvd::allreduce(mine, "min", hvd::Min), 1));
  EXPECT_TRUE(every(hvd::allreduce(mine, "max", hvd::Max), n));
  EXPECT_TRUE(every(hvd::allreduce(mine, "product", hvd::Product), std::tgamma(n + 1)));
  EXPECT_TRUE(every(hvd::allreduce(mine, "half", hvd::Sum, hvd::Compression::kFp16), sum_of_ranks() + n));
  EXPECT_TRUE(every(hvd::allreduce(torch::ones({3}), "adasum of equal ones", hvd::Adasum), 1));
  const auto own_axis = torch::eye(n)[hvd::rank()].contiguous();
  EXPECT_TRUE(every(hvd::allreduce(own_axis, "adasum of orthogonal ones", hvd::Adasum), 1));
  EXPECT_TRUE(every(hvd::allreduce(mine), (n + 1) / 2.0));  // without a name
  EXPECT_TRUE(every(mine, hvd::rank() + 1));
  const auto columns = torch::full({2, 3}, hvd::rank()).t();
  hvd::allreduce_(columns, "in place", hvd::Sum);
  EXPECT_TRUE(every(columns, sum_of_ranks()));
}

TEST(Hvd, WhatCannotBeReducedIsRefusedWhereItIsSubmitted) {
  EXPECT_THAT([] { (void)hvd::allreduce_async(torch::ones({2}, torch::kLong), "steps"); },
              ThrowsWith<UsageError>("floating-point numbers for an average"));
  EXPECT_TRUE(every(hvd::allreduce(torch::ones({2}, torch::kLong), "steps", hvd::Sum), hvd::size()));
}

TEST(Hvd, OperationsMayBeSubmittedInAnyOrder) {
  constexpr int kCount = 5;
  std::vector<hvd::Handle> handles(kCount);
  for (int i = 0; i < kCount; ++i) {
    const int which = (i + hvd::rank()) % kCount;
    handles[static_cast<std::size_t>(which)] =
        hvd::allreduce_async(torch::full({which + 1}, which * 1.0), "tensor " + std::to_string(which));
  }
  for (int i = kCount; i-- > 0;) {
    const int which = (i + 2 * hvd::rank()) % kCount;
    const auto result = hvd::synchronize(handles[static_cast<std::size_t>(which)]);
    EXPECT_TRUE(every(result, which));
    EXPECT_EQ(result.numel(), which + 1);
  }
}

TEST(Hvd, PollTellsWhenAllHaveSubmitted) {
  const auto tensor = torch::ones({4});
  const auto handle = hvd::allreduce_async_(tensor, "polled", hvd::Sum);
  while (!hvd::poll(handle)) {
  }
  EXPECT_TRUE(every(hvd::synchronize(handle), hvd::size()));
  EXPECT_TRUE(every(tensor, hvd::size()));
}

TEST(Hvd, AllgatherPutsTheRowsOfAllRanksTogether) {
  const auto rows = hvd::allgather(torch::full({hvd::rank() + 1, 2}, hvd::rank()), "rows");
  ASSERT_EQ(rows.size(0), sum_of_ranks() + hvd::size());
  EXPECT_EQ(rows[0][0].item<int>(), 0);
  EXPECT_EQ(rows[-1][1].item<int>(), hvd::size() - 1);
  EXPECT_THAT([] { hvd::allgather(torch::ones({})); }, ThrowsWith<UsageError>("a tensor with rows"));
}

TEST(Hvd, BroadcastGivesTheRootsTensor) {
  const int root = hvd::size() - 1;
  EXPECT_TRUE(every(hvd::broadcast(torch::full({3}, hvd::rank()), root, "value"), root));
  const auto in_place = torch::full({2, 2}, hvd::rank()).t();
  hvd::broadcast_(in_place, root, "in place");
  EXPECT_TRUE(every(in_place, root));
  EXPECT_THAT([] { hvd::broadcast(torch::ones({1}), 99); }, ThrowsWith<UsageError>("there is no such root"));
}

TEST(Hvd, AlltoallSendsRowsToEachRank) {
  std::vector<std::int64_t> splits;
  for (int rank = 0; rank < hvd::size(); ++rank) splits.push_back(rank + 1);
  const auto rows = torch::full({sum_of_ranks() + hvd::size(), 2}, hvd::rank());
  const auto got = hvd::alltoall(rows, splits, "rows");
  ASSERT_EQ(got.size(0), (hvd::rank() + 1) * hvd::size());
  for (int rank = 0; rank < hvd::size(); ++rank) {
    EXPECT_TRUE(every(got.narrow(0, rank * (hvd::rank() + 1), hvd::rank() + 1), rank));
  }
  EXPECT_THAT([&] { hvd::alltoall(rows, {100}); }, ThrowsWith<UsageError>("the splits do not divide the rows"));
}

TEST(Hvd, ANameThatIsUnderWayIsRefused) {
  const auto handle = hvd::allreduce_async(torch::ones({1}), "twice");
  EXPECT_THAT([] { (void)hvd::allreduce_async(torch::ones({1}), "twice"); },
              ThrowsWith<UsageError>("'twice' is submitted again"));
  hvd::synchronize(handle);
}

TEST(Hvd, RanksThatAreDoneJoinWithZeros) {
  for (int i = 0; i <= hvd::rank(); ++i) {
    const auto result = hvd::allreduce(torch::ones({2}), "step " + std::to_string(i), hvd::Sum);
    EXPECT_TRUE(every(result, hvd::size() - i));
  }
  const auto rows =
      hvd::rank() == hvd::size() - 1 ? hvd::allgather(torch::ones({3, 1}), "the last") : torch::ones({3, 1});
  EXPECT_EQ(rows.size(0), 3);
  EXPECT_EQ(hvd::join(), hvd::size() - 1);
  EXPECT_TRUE(every(hvd::allreduce(torch::ones({2}), "together again", hvd::Sum), hvd::size()));
}

TEST(Hvd, ObjectsAreTheRootsEverywhere) {
  const nlohmann::json mine = {{"epoch", hvd::rank()}, {"name", "run"}};
  EXPECT_EQ(hvd::broadcast_object(mine)["epoch"], 0);
  EXPECT_EQ(hvd::allgather_object(mine).back()["epoch"], hvd::size() - 1);
  hvd::barrier();
}

TEST(Hvd, ItsOptimizerTrainsOnAllRanks) {
  auto weight = torch::full({3}, 1.0 * hvd::rank(), torch::requires_grad());
  const NamedTensors::List named{{"weight", weight}};
  torch::optim::SGD sgd({weight}, torch::optim::SGDOptions(0.5 * (hvd::rank() + 1)).momentum(0.9));
  hvd::broadcast_parameters(named);
  hvd::broadcast_optimizer_state(sgd);
  hvd::DistributedOptimizer optimizer(sgd, named);
  (weight.sum() * (hvd::rank() + 1)).backward();
  optimizer.step();
  EXPECT_TRUE(every(weight, -0.5 * (hvd::size() + 1) / 2));
}

int body(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  try {
    hvd::rank();
    return kExitFailure;  // it must not work before init
  } catch (const UsageError&) {
  }
  hvd::init({.backend = env::get("LOCKSTEP_TEST_BACKEND").value_or("auto"), .timeout = std::chrono::seconds(60)});
  if (hvd::rank() != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int result = RUN_ALL_TESTS();
  hvd::shutdown();
  return result;
}

}  // namespace
}  // namespace lockstep::test

int main(int argc, char** argv) {
  return lockstep::report_errors(lockstep::discover_placement().rank, lockstep::test::body, argc, argv);
}

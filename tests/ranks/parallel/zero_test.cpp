// ZeroRedundancyOptimizer: the answers of the optimizer that it divides, for a part of its memory.
#include <sstream>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/parallel/broadcast.h>
#include <lockstep/parallel/distributed_optimizer.h>
#include <lockstep/parallel/zero_redundancy_optimizer.h>

#include "same_answers.h"
#include "throws_with.h"
#include "world.h"

namespace lockstep::test {
namespace {

using Groups = ZeroRedundancyOptimizer::Groups;
using torch::optim::Adam;
using torch::optim::AdamOptions;

std::unique_ptr<torch::optim::Optimizer> make_adam(const Groups& share) {
  return std::make_unique<Adam>(share, AdamOptions(0.01).weight_decay(1e-3));
}

SmallNet seeded_net() {
  torch::manual_seed(3);
  return {};
}

void train(SmallNet& net, DistributedOptimizer& optimizer, int first, int last) {
  for (int step = first; step < last; ++step) {
    const Samples mine = rank_batch(step, world().rank(), world().size());
    optimizer.zero_grad();
    loss_of(net->forward(mine.inputs), mine).backward();
    optimizer.step();
  }
}

SmallNet trained_by_one() {
  auto net = seeded_net();
  Adam adam(net->parameters(), AdamOptions(0.01).weight_decay(1e-3));
  for (int step = 0; step < kSteps; ++step) {
    const Samples all = global_batch(step, world().size());
    adam.zero_grad();
    loss_of(net->forward(all.inputs), all).backward();
    adam.step();
  }
  return net;
}

TEST(ZeroRedundancyOptimizer, TwentyStepsAreThoseOfOneRankWithAllSamples) {
  auto net = seeded_net();
  ZeroRedundancyOptimizer zero(net->named_parameters(), make_adam, world());
  DistributedOptimizer optimizer(zero, net->named_parameters(), world());
  train(net, optimizer, 0, kSteps);
  EXPECT_LT(difference(*net, *trained_by_one()), 1e-12);
}

TEST(ZeroRedundancyOptimizer, TheStateOfARankIsItsShare) {
  NamedTensors::List named;
  for (const std::int64_t size : {40000, 10000, 30000, 20000, 25000, 35000, 15000, 5000}) {
    named.emplace_back(std::to_string(size), torch::zeros({size}, torch::requires_grad()));
    named.back().second.mutable_grad() = torch::ones({size});
  }
  ZeroRedundancyOptimizer zero(named, make_adam, world());
  zero.step();
  const double state = 2 * 180000 * sizeof(float);  // two moments
  const double share = static_cast<double>(zero.local_state_bytes()) * world().size() / state;
  EXPECT_GT(share, 0.85);  // shares differ by less than the smallest parameters
  EXPECT_LT(share, 1.2);   // and files have headers
  const auto of_all = world().all_reduce_value(zero.local_state_bytes());
  EXPECT_NEAR(static_cast<double>(of_all) / state, 1, 0.1);
}

TEST(ZeroRedundancyOptimizer, WithoutAWholeToDistributeAllRanksAreTold) {
  auto net = seeded_net();
  ZeroRedundancyOptimizer zero(net->named_parameters(), make_adam, world());
  EXPECT_THROW(zero.distribute(nullptr), UsageError);
  EXPECT_EQ(world().all_reduce_value(std::int64_t{1}), world().size());  // nobody is left waiting
}

TEST(ZeroRedundancyOptimizer, AFactoryThatMakesNothingOnOneRankIsToldToAll) {
  auto net = seeded_net();
  const auto make = [](const Groups& groups) -> std::unique_ptr<torch::optim::Optimizer> {
    return world().rank() == 0 ? nullptr : make_adam(groups);
  };
  EXPECT_THROW(ZeroRedundancyOptimizer(net->named_parameters(), make, world()), UsageError);
  EXPECT_EQ(world().all_reduce_value(std::int64_t{1}), world().size());
}

TEST(ZeroRedundancyOptimizer, AStateThatCannotBeSavedIsToldToAll) {
  auto net = seeded_net();
  ZeroRedundancyOptimizer zero(net->named_parameters(), make_adam, world());
  EXPECT_THROW(broadcast_optimizer_state(zero, world()), Error);
  EXPECT_EQ(world().all_reduce_value(std::int64_t{1}), world().size());
}

TEST(ZeroRedundancyOptimizer, LargeAndChannelsLastParametersReachEveryRank) {
  auto large = torch::zeros({1 << 19}, torch::requires_grad());
  auto image = torch::zeros({2, 3, 4, 5}).contiguous(torch::MemoryFormat::ChannelsLast).requires_grad_(true);
  auto whole = torch::zeros({}, torch::dtype(torch::kDouble).requires_grad(true));
  ZeroRedundancyOptimizer zero(
      NamedTensors::List{{"large", large}, {"image", image}, {"whole", whole}},
      [](const Groups& share) { return std::make_unique<torch::optim::SGD>(share, 1.0); }, world());
  const auto numbers = torch::arange(120, torch::kFloat).view({2, 3, 4, 5});
  (large.sum() + (image * numbers).sum() + whole).backward();
  zero.step();
  EXPECT_TRUE(large.eq(-1).all().item<bool>());
  EXPECT_TRUE(image.eq(-numbers).all().item<bool>());
  EXPECT_EQ(whole.item<double>(), -1);
}

TEST(ZeroRedundancyOptimizer, GroupsKeepTheirOptionsAndFollowChanges) {
  auto fast = torch::zeros({3}, torch::requires_grad()), slow = torch::zeros({3}, torch::requires_grad());
  Groups groups;
  groups.emplace_back(std::vector{fast}, std::make_unique<torch::optim::SGDOptions>(1.0));
  groups.emplace_back(std::vector{slow});
  ZeroRedundancyOptimizer zero(
      NamedTensors::List{{"fast", fast}, {"slow", slow}}, groups,
      [](const Groups& share) { return std::make_unique<torch::optim::SGD>(share, 0.25); }, world());
  (fast.sum() + slow.sum()).backward();
  zero.step();
  EXPECT_EQ(fast[0].item<double>(), -1);
  EXPECT_EQ(slow[0].item<double>(), -0.25);
  zero.param_groups()[1].options().set_lr(0.5);
  zero.step();
  EXPECT_EQ(slow[0].item<double>(), -0.75);
}

TEST(ZeroRedundancyOptimizer, AStateThatWasConsolidatedSavedAndDistributedGoesOnAsIfNothingHappened) {
  const int root = world().size() - 1;
  auto net = seeded_net();
  std::string saved;
  {
    ZeroRedundancyOptimizer zero(net->named_parameters(), make_adam, world());
    DistributedOptimizer optimizer(zero, net->named_parameters(), world());
    train(net, optimizer, 0, kSteps / 2);
    const auto whole = zero.consolidate(root);
    ASSERT_EQ(whole != nullptr, world().rank() == root);
    if (whole) {
      EXPECT_EQ(whole->state().size(), net->parameters().size());
      std::ostringstream stream;
      torch::save(*whole, stream);
      saved = stream.str();
    }
  }
  ZeroRedundancyOptimizer zero(net->named_parameters(), make_adam, world());
  const auto whole = zero.make_whole();
  if (world().rank() == root) {
    std::istringstream stream(saved);
    torch::load(*whole, stream);
  }
  zero.distribute(whole.get(), root);
  DistributedOptimizer optimizer(zero, net->named_parameters(), world());
  train(net, optimizer, kSteps / 2, kSteps);
  EXPECT_LT(difference(*net, *trained_by_one()), 1e-12);
}

TEST(ZeroRedundancyOptimizer, MistakesAreToldOnEveryRank) {
  auto weight = torch::zeros({world().rank() == 0 ? 2 : 3}, torch::requires_grad());
  const auto other = torch::zeros({2}, torch::requires_grad());
  EXPECT_THAT([] { ZeroRedundancyOptimizer(NamedTensors::List{}, make_adam, world()); },
              ThrowsWith<UsageError>("there are no parameters"));
  EXPECT_THAT(
      [&] {
        Groups groups{torch::optim::OptimizerParamGroup({other})};
        ZeroRedundancyOptimizer(NamedTensors::List{{"weight", weight}}, groups, make_adam, world());
      },
      ThrowsWith<UsageError>("'weight' must be in one group of parameters"));
  if (world().size() > 1) {
    EXPECT_THAT(
        [&] {
          ZeroRedundancyOptimizer(NamedTensors::List{{"weight", weight}}, make_adam, world());
        },
        ThrowsWith<UsageError>("rank 0: 'weight' float32[2] on cpu; rank"));
  }
  ZeroRedundancyOptimizer zero(NamedTensors::List{{"other", other}}, make_adam, world());
  std::ostringstream stream;
  EXPECT_THAT([&] { torch::save(zero, stream); }, ThrowsWith<UsageError>("consolidate()"));
}

}  // namespace
}  // namespace lockstep::test

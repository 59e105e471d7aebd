// Our optimizers where parallel takes one of libtorch's.
#include <gmock/gmock.h>

#include <lockstep/optim/make_optimizer.h>
#include <lockstep/optim/named_state.h>
#include <lockstep/parallel/broadcast.h>
#include <lockstep/parallel/distributed_optimizer.h>
#include <lockstep/parallel/zero_redundancy_optimizer.h>

#include "same_answers.h"
#include "world.h"

namespace lockstep::test {
namespace {

using Made = std::unique_ptr<torch::optim::Optimizer>;

SmallNet seeded_net() {
  torch::manual_seed(3);
  return {};
}

class OptimizerOfRanks : public ::testing::TestWithParam<const char*> {
 protected:
  static Made make(const std::vector<torch::Tensor>& parameters) {
    optim::OptimizerOptions options{.lr = 0.01, .weight_decay = 1e-3};
    if (GetParam() == std::string("sgd")) options.momentum = 0.9;
    return optim::make_optimizer(GetParam(), {{.name = "all", .parameter_names = {}, .parameters = parameters}},
                                 options);
  }
  static void train(SmallNet& net, DistributedOptimizer& optimizer, int first, int last) {
    for (int step = first; step < last; ++step) {
      const Samples mine = rank_batch(step, world().rank(), world().size());
      optimizer.zero_grad();
      loss_of(net->forward(mine.inputs), mine).backward();
      optimizer.step();
    }
  }
  static SmallNet trained_by_one() {
    auto net = seeded_net();
    const Made optimizer = make(net->parameters());
    for (int step = 0; step < kSteps; ++step) {
      const Samples all = global_batch(step, world().size());
      optimizer->zero_grad();
      loss_of(net->forward(all.inputs), all).backward();
      optimizer->step();
    }
    return net;
  }
};

TEST_P(OptimizerOfRanks, DividedByZeroTrainsAsOneRankWithAllSamples) {
  auto net = seeded_net();
  ZeroRedundancyOptimizer zero(
      net->named_parameters(), [](const auto& share) { return make(share[0].params()); }, world());
  DistributedOptimizer optimizer(zero, net->named_parameters(), world());
  train(net, optimizer, 0, kSteps / 2);
  // The whole state, by name, through rank 0, and back to its owners.
  const auto whole = zero.consolidate();
  const auto given = zero.make_whole();
  if (whole) {
    const auto names = net->named_parameters();
    const auto state = optim::named_state(*whole, names);
    EXPECT_EQ(state.values.at("parameters_with_state"), std::to_string(names.size()));
    optim::load_named_state(*given, names, state);
  }
  zero.distribute(whole ? given.get() : nullptr);
  train(net, optimizer, kSteps / 2, kSteps);
  EXPECT_LT(difference(*net, *trained_by_one()), 1e-12);
}

TEST_P(OptimizerOfRanks, StateIsBroadcast) {
  auto net = seeded_net();
  const Made optimizer = make(net->parameters());
  if (world().rank() == 0) {
    const Samples all = global_batch(0, world().size());
    loss_of(net->forward(all.inputs), all).backward();
    optimizer->step();
    optimizer->step();
  }
  broadcast_parameters(net->named_parameters(), world());
  broadcast_optimizer_state(*optimizer, world());
  const Samples next = global_batch(1, world().size());
  optimizer->zero_grad();
  loss_of(net->forward(next.inputs), next).backward();
  optimizer->step();
  for (const auto& [name, tensor] : optim::named_state(*optimizer, net->named_parameters()).tensors) {
    torch::Tensor first = tensor.clone();
    world().broadcast(first);
    EXPECT_TRUE(first.equal(tensor)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerOfRanks, ::testing::Values("sgd", "adam", "adamw", "lars", "lamb"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace lockstep::test

// DistributedOptimizer on several ranks: the same answers as on one, and mistakes named on every rank.
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/parallel/broadcast.h>
#include <lockstep/parallel/distributed_optimizer.h>
#include <lockstep/parallel/not_finite_error.h>
#include <lockstep/trace/recorder.h>

#include "same_answers.h"
#include "throws_with.h"
#include "world.h"

namespace lockstep::test {
namespace {

SmallNet seeded_net(std::uint64_t seed = 7) {
  torch::manual_seed(seed);
  return {};
}

torch::optim::SGD momentum_sgd(const torch::nn::Module& net) {
  return torch::optim::SGD(net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(1e-3));
}

// What one rank makes of all samples, `passes` times as many a step.
SmallNet trained_by_one(int passes = 1) {
  auto net = seeded_net();
  auto sgd = momentum_sgd(*net);
  for (int step = 0; step < kSteps; ++step) {
    sgd.zero_grad();
    for (int pass = 0; pass < passes; ++pass) {
      const Samples samples = global_batch(step * passes + pass, world().size());
      (loss_of(net->forward(samples.inputs), samples) / passes).backward();
    }
    sgd.step();
  }
  return net;
}

SmallNet trained_by_all(const DistributedOptimizerOptions& options = {}) {
  auto net = seeded_net();
  auto sgd = momentum_sgd(*net);
  DistributedOptimizer optimizer(sgd, net->named_parameters(), world(), options);
  const int passes = options.backward_passes_per_step;
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    for (int pass = 0; pass < passes; ++pass) {
      const Samples samples = rank_batch(step * passes + pass, world().rank(), world().size());
      (loss_of(net->forward(samples.inputs), samples) / passes).backward();
    }
    optimizer.step();
  }
  return net;
}

bool equal(const torch::nn::Module& a, const torch::nn::Module& b) {
  const auto of_a = a.parameters(), of_b = b.parameters();
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(), [](const auto& x, const auto& y) { return x.equal(y); });
}

// Whether all ranks hold the same bits.
bool equal_on_all_ranks(const torch::nn::Module& net) {
  std::int64_t same = 1;
  for (const auto& parameter : net.parameters()) {
    const auto of_first = parameter.detach().clone();
    world().broadcast(of_first);
    same &= parameter.equal(of_first) ? 1 : 0;
  }
  return world().all_reduce_value(same, Reduce::kMin) == 1;
}

TEST(DistributedOptimizer, TwentyStepsAreThoseOfOneRankWithAllSamples) {
  const auto expected = trained_by_one();
  const auto net = trained_by_all();
  EXPECT_LT(difference(*net, *expected), 1e-12);
  EXPECT_GT(difference(*net, *seeded_net()), 1e-3);  // it has learned something
  EXPECT_TRUE(equal_on_all_ranks(*net));
}

TEST(DistributedOptimizer, WithoutFusionTheAnswersAreTheSame) {
  EXPECT_LT(difference(*trained_by_all({.fusion_megabytes = 0}), *trained_by_one()), 1e-12);
}

TEST(DistributedOptimizer, BuffersThatHoldAFewGradientsGiveTheSameAnswers) {
  // 180 x 17 doubles are 24 KB: one gradient goes alone, the others share buffers of 4 KB.
  EXPECT_LT(difference(*trained_by_all({.fusion_megabytes = 0.004}), *trained_by_one()), 1e-12);
}

TEST(DistributedOptimizer, SeveralBackwardPassesAStepEqualOneLargeBatch) {
  EXPECT_LT(difference(*trained_by_all({.backward_passes_per_step = 3}), *trained_by_one(3)), 1e-12);
}

TEST(DistributedOptimizer, TwoRunsAreBitEqual) {
  EXPECT_TRUE(equal(*trained_by_all(), *trained_by_all()));
}

TEST(DistributedOptimizer, SumIsTheAverageTimesTheRanks) {
  auto net = seeded_net();
  torch::optim::SGD sgd(net->parameters(), 0.1);
  DistributedOptimizer optimizer(sgd, net->named_parameters(), world(), {.reduction = GradientReduction::kSum});
  const Samples all = global_batch(0, world().size()), mine = rank_batch(0, world().rank(), world().size());
  auto alone = seeded_net();
  loss_of(alone->forward(all.inputs), all).backward();
  loss_of(net->forward(mine.inputs), mine).backward();
  optimizer.synchronize();
  EXPECT_TRUE(torch::allclose(net->output->weight.grad(), alone->output->weight.grad() * world().size(), 1e-12, 1e-14));
}

TEST(DistributedOptimizer, CompressedGradientsAreAveragesToTheirPrecision) {
  for (const auto& [compression, digits] : {std::pair(Compression::kFp16, 1e-3), std::pair(Compression::kBf16, 1e-2)}) {
    auto weight = torch::zeros({2000}, torch::requires_grad());
    torch::optim::SGD sgd({weight}, 1.0);
    DistributedOptimizer optimizer(sgd, NamedTensors::List{{"weight", weight}}, world(), {.compression = compression});
    // A sum of these would overflow in fp16, which ends at 65,504.
    const auto values = torch::full({2000}, 30000.0 + world().rank());
    (weight * values).sum().backward();
    optimizer.synchronize();
    const double expected = 30000 + (world().size() - 1) / 2.0;
    EXPECT_LT((weight.grad() / expected - 1).abs().max().item<double>(), digits);
    EXPECT_EQ(weight.grad().scalar_type(), torch::kFloat);
  }
}

TEST(DistributedOptimizer, ClippingBetweenSynchronizeAndStepIsKept) {
  auto weight = torch::zeros({4}, torch::requires_grad());
  torch::optim::SGD sgd({weight}, 1.0);
  DistributedOptimizer optimizer(sgd, NamedTensors::List{{"weight", weight}}, world());
  (weight.sum() * 100 * (world().rank() + 1)).backward();
  optimizer.synchronize();
  EXPECT_TRUE(weight.grad().eq(100 * (world().size() + 1) / 2.0).all().item<bool>());
  weight.mutable_grad().clamp_(-1, 1);
  optimizer.step();
  EXPECT_TRUE(weight.eq(-1).all().item<bool>());
}

TEST(DistributedOptimizer, GradientsThatComeInAnotherOrderOnEachRankMeetTheirOwn) {
  std::vector<torch::Tensor> weights;
  NamedTensors::List named;
  for (int i = 0; i < 6; ++i) {
    weights.push_back(torch::zeros({3}, torch::dtype(torch::kDouble).requires_grad(true)));
    named.emplace_back("weight" + std::to_string(i), weights.back());
  }
  torch::optim::SGD sgd(weights, 1.0);
  DistributedOptimizer optimizer(sgd, named, world(), {.fusion_megabytes = 0});
  for (int step = 1; step <= 3; ++step) {
    optimizer.zero_grad();
    for (int i = 0; i < 6; ++i) {
      const int which = (i + world().rank() * step) % 6;
      (weights[static_cast<std::size_t>(which)].sum() * (which + 1)).backward();
      // Another collective of the program, which must not be taken for one of the optimizer's.
      EXPECT_EQ(world().all_reduce_value(std::int64_t{1}), world().size());
    }
    optimizer.step();
    for (int i = 0; i < 6; ++i) EXPECT_EQ(weights[static_cast<std::size_t>(i)][0].item<double>(), -step * (i + 1));
  }
}

TEST(DistributedOptimizer, AParameterWithoutGradientOnSomeRanksCountsAsZeroThere) {
  auto used = torch::zeros({2}, torch::requires_grad()), sometimes = torch::zeros({2}, torch::requires_grad());
  torch::optim::SGD sgd({used, sometimes}, 1.0);
  DistributedOptimizer optimizer(sgd, NamedTensors::List{{"used", used}, {"sometimes", sometimes}}, world());
  auto loss = used.sum();
  if (world().rank() == 0) loss = loss + sometimes.sum() * world().size();
  loss.backward();
  optimizer.step();
  EXPECT_TRUE(sometimes.eq(-1).all().item<bool>());
}

TEST(DistributedOptimizer, GradientsThatAreThrownAwayDoNotCount) {
  auto first = torch::zeros({2}, torch::requires_grad()), second = torch::zeros({2}, torch::requires_grad());
  for (const auto reduction : {GradientReduction::kSum, GradientReduction::kAdasum}) {
    torch::optim::SGD sgd({first, second}, 1.0);
    DistributedOptimizer optimizer(sgd, NamedTensors::List{{"first", first}, {"second", second}}, world(),
                                   {.reduction = reduction, .fusion_megabytes = 0});
    first.sum().backward();  // not under way yet: it comes after the other one
    const double expected = reduction == GradientReduction::kSum ? world().size() : 1;
    for (int step = 0; step < 2; ++step) {
      optimizer.zero_grad();
      (first.sum() + second.sum()).backward();
      optimizer.synchronize();
      EXPECT_TRUE(first.grad().eq(expected).all().item<bool>());
      EXPECT_TRUE(second.grad().eq(expected).all().item<bool>());
    }
  }
}

TEST(DistributedOptimizer, FrozenAndTiedParametersWorkAsWithoutIt) {
  auto tied = torch::ones({2}, torch::requires_grad()), frozen = torch::ones({2});
  torch::optim::SGD sgd({tied, frozen}, torch::optim::SGDOptions(1.0).weight_decay(0.5));
  DistributedOptimizer optimizer(sgd, NamedTensors::List{{"encoder", tied}, {"decoder", tied}, {"frozen", frozen}},
                                 world());
  ((tied + tied * frozen).sum()).backward();
  optimizer.step();
  EXPECT_TRUE(tied.eq(1 - (2 + 0.5)).all().item<bool>());
  EXPECT_TRUE(frozen.eq(1).all().item<bool>());
  frozen.requires_grad_(true);
  (tied * frozen).sum().backward();
  EXPECT_THAT([&] { optimizer.step(); }, ThrowsWith<UsageError>("'frozen' was frozen when this was made"));
}

TEST(DistributedOptimizer, ChannelsLastParametersStayChannelsLast) {
  auto net = seeded_net();
  net->convolution->weight.set_data(net->convolution->weight.contiguous(torch::MemoryFormat::ChannelsLast));
  auto expected = seeded_net();
  auto sgd = momentum_sgd(*net), alone = momentum_sgd(*expected);
  DistributedOptimizer optimizer(sgd, net->named_parameters(), world(), {.fusion_megabytes = 0});
  const Samples all = global_batch(0, world().size()), mine = rank_batch(0, world().rank(), world().size());
  loss_of(expected->forward(all.inputs), all).backward();
  alone.step();
  loss_of(net->forward(mine.inputs), mine).backward();
  optimizer.step();
  EXPECT_TRUE(net->convolution->weight.grad().is_contiguous(torch::MemoryFormat::ChannelsLast));
  EXPECT_LT(difference(*net, *expected), 1e-12);
}

TEST(DistributedOptimizer, RanksThatRunOutOfSamplesEarlyJoin) {
  auto weight = torch::zeros({3}, torch::dtype(torch::kDouble).requires_grad(true));
  torch::optim::SGD sgd({weight}, 1.0);
  DistributedOptimizer optimizer(sgd, NamedTensors::List{{"weight", weight}}, world(),
                                 {.reduction = GradientReduction::kSum, .uneven_inputs = true});
  for (int step = 0; step <= world().rank(); ++step) {
    optimizer.zero_grad();
    weight.sum().backward();
    optimizer.step();
  }
  EXPECT_EQ(optimizer.join(), world().size() - 1);
  const int steps_of_all = world().size() * (world().size() + 1) / 2;
  EXPECT_TRUE(weight.eq(-steps_of_all).all().item<bool>());
}

// Two weights; what makes the gradient of the second a NaN on the last rank is given for each step.
class DistributedOptimizerAndANan : public ::testing::TestWithParam<DistributedOptimizerOptions> {
 protected:
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

  void backward(double value_on_last) {
    const bool is_last = world().rank() == world().size() - 1;
    for (int pass = 0; pass < GetParam().backward_passes_per_step; ++pass) {
      (good_.sum() + (bad_ * (is_last ? value_on_last : 1)).sum()).backward();
    }
  }

  torch::Tensor good_ = torch::zeros({2, 3}, torch::requires_grad()), bad_ = torch::zeros({3}, torch::requires_grad());
  const NamedTensors::List named_{{"good", good_}, {"bad", bad_}};
  torch::optim::SGD sgd_{{good_, bad_}, 1.0};
};

TEST_P(DistributedOptimizerAndANan, NamesItsRankAndParameterAndGoesOn) {
  DistributedOptimizer optimizer(sgd_, named_, world(), GetParam());
  const auto error = fmt::format("found: rank {}: bad\n", world().size() - 1);
  for (int time = 0; time < 2; ++time) {
    backward(kNan);
    EXPECT_THAT([&] { optimizer.step(); }, ThrowsWith<parallel::NotFiniteError>(error));
    EXPECT_TRUE(good_.eq(0).all().item<bool>()) << "a step was made";
    for (const auto& [name, parameter] : named_) parameter.mutable_grad().reset();  // as Module::zero_grad does
  }
  backward(1);
  optimizer.step();
  EXPECT_TRUE(bad_.lt(0).all().item<bool>());
}

TEST_P(DistributedOptimizerAndANan, LeavesItToTheLossScaler) {
  auto options = GetParam();
  options.check_gradients = false;
  DistributedOptimizer optimizer(sgd_, named_, world(), options);
  backward(kNan);
  optimizer.synchronize();
  EXPECT_TRUE(good_.grad().isfinite().all().item<bool>());
  EXPECT_FALSE(bad_.grad().isfinite().any().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Options, DistributedOptimizerAndANan,
                         ::testing::Values(DistributedOptimizerOptions{},
                                           DistributedOptimizerOptions{.fusion_megabytes = 0},
                                           DistributedOptimizerOptions{.reduction = GradientReduction::kSum},
                                           DistributedOptimizerOptions{.reduction = GradientReduction::kAdasum},
                                           DistributedOptimizerOptions{.compression = Compression::kFp16},
                                           DistributedOptimizerOptions{.backward_passes_per_step = 2}));

TEST(DistributedOptimizer, ARankThatHasJoinedIsToldOfANanToo) {
  auto weight = torch::zeros({3}, torch::requires_grad());
  torch::optim::SGD sgd({weight}, 1.0);
  DistributedOptimizer optimizer(sgd, NamedTensors::List{{"weight", weight}}, world(), {.uneven_inputs = true});
  weight.sum().backward();
  optimizer.step();
  const int last = world().size() - 1;
  const auto go_on = [&] {
    if (world().rank() != last) return static_cast<void>(optimizer.join());
    (weight * std::numeric_limits<float>::infinity()).sum().backward();
    optimizer.step();
  };
  EXPECT_THAT(go_on, ThrowsWith<parallel::NotFiniteError>(fmt::format("found: rank {}: weight", last)));
}

TEST(DistributedOptimizer, ASumThatIsNotFiniteIsNamedWhereNoRanksGradientIsToBlame) {
  auto weight = torch::zeros({3}, torch::requires_grad());
  torch::optim::SGD sgd({weight}, 1.0);
  DistributedOptimizer optimizer(sgd, NamedTensors::List{{"weight", weight}}, world(),
                                 {.compression = Compression::kFp16});
  (weight * 1e30).sum().backward();
  EXPECT_THAT([&] { optimizer.step(); },
              ThrowsWith<parallel::NotFiniteError>("on no rank, but where those of all came together: weight"));
}

TEST(DistributedOptimizer, TrainingGoesOnAfterAJoin) {
  auto net = seeded_net(), expected = seeded_net();
  auto sgd = momentum_sgd(*net), alone = momentum_sgd(*expected);
  DistributedOptimizer optimizer(sgd, net->named_parameters(), world(), {.uneven_inputs = true});
  const auto train = [&](int first, int last) {
    for (int step = first; step < last; ++step) {
      const Samples mine = rank_batch(step, world().rank(), world().size());
      optimizer.zero_grad();
      loss_of(net->forward(mine.inputs), mine).backward();
      optimizer.step();
    }
  };
  train(0, world().rank() + 1);
  EXPECT_EQ(optimizer.join(), world().size() - 1);
  train(world().size(), kSteps);
  for (int step = 0; step < kSteps; ++step) {
    alone.zero_grad();
    for (int rank = step < world().size() ? step : 0; rank < world().size(); ++rank) {
      const Samples samples = rank_batch(step, rank, world().size());
      (loss_of(expected->forward(samples.inputs), samples) / world().size()).backward();
    }
    alone.step();
  }
  EXPECT_LT(difference(*net, *expected), 1e-12);
}

// What was reduced meanwhile, in the order in which it began.
std::vector<trace::Event> reductions_during(const std::function<void()>& body) {
  trace::start_recording();
  body();
  std::vector<trace::Event> reductions;
  for (const trace::Track& track : trace::stop_recording().tracks) {
    for (const trace::Event& event : track.events) {
      if (event.name == "all_reduce") reductions.push_back(event);
    }
  }
  return reductions;
}

TEST(DistributedOptimizer, AReductionBeginsWhileBackwardGoesOn) {
  auto first = torch::ones({3}, torch::requires_grad()), second = torch::ones({3}, torch::requires_grad());
  torch::optim::SGD sgd({first, second}, 1.0);
  DistributedOptimizer optimizer(sgd, NamedTensors::List{{"first", first}, {"second", second}}, world(),
                                 {.fusion_megabytes = 0});
  std::int64_t halfway = 0;  // the second gradient is made, and the first is not
  const auto reductions = reductions_during([&] {
    const auto between = first * 2;
    between.register_hook([&](const torch::Tensor& gradient) {
      halfway = trace::Clock::now().time_since_epoch().count();
      return gradient;
    });
    (between * second).sum().backward();
    optimizer.step();
  });
  ASSERT_EQ(reductions.size(), 2);
  EXPECT_LT(reductions[0].began, halfway);
  EXPECT_GT(reductions[1].began, halfway);
}

TEST(DistributedOptimizer, SmallGradientsTravelTogether) {
  std::vector<torch::Tensor> weights;
  NamedTensors::List named;
  for (int i = 0; i < 10; ++i) {
    weights.push_back(torch::ones({50}, torch::requires_grad()));
    named.emplace_back("weight" + std::to_string(i), weights.back());
  }
  const auto bytes_of_reductions = [&](double fusion_megabytes) {
    torch::optim::SGD sgd(weights, 1.0);
    DistributedOptimizer optimizer(sgd, named, world(), {.fusion_megabytes = fusion_megabytes});
    std::vector<std::int64_t> bytes;
    for (const trace::Event& event : reductions_during([&] {
           torch::stack(weights).sum().backward();
           optimizer.step();
         })) {
      bytes.push_back(event.details.at(0).second);
    }
    return bytes;
  };
  constexpr std::int64_t kEach = 50 * sizeof(float);
  EXPECT_THAT(bytes_of_reductions(1), ::testing::ElementsAre(10 * kEach));
  EXPECT_THAT(bytes_of_reductions(0), ::testing::ElementsAreArray(std::vector(10, kEach)));
  EXPECT_THAT(bytes_of_reductions(5.0 * kEach / (1 << 20)), ::testing::ElementsAre(5 * kEach, 5 * kEach));
}

TEST(DistributedOptimizer, MistakesAreToldInWords) {
  auto weight = torch::zeros({2}, torch::requires_grad()), other = torch::zeros({2}, torch::requires_grad());
  torch::optim::SGD sgd({weight}, 1.0), empty(std::vector<torch::Tensor>{}, 1.0);
  const NamedTensors::List named{{"weight", weight}};
  const auto make = [](torch::optim::Optimizer& optimizer, const NamedTensors::List& list,
                       const DistributedOptimizerOptions& options = {}) {
    return [&optimizer, list, options] { DistributedOptimizer(optimizer, list, world(), options); };
  };
  EXPECT_THAT(make(empty, named), ThrowsWith<UsageError>("the optimizer has no parameters"));
  EXPECT_THAT(make(sgd, {}), ThrowsWith<UsageError>("there are no parameters"));
  EXPECT_THAT(make(sgd, {{"other", other}}), ThrowsWith<UsageError>("1 of the optimizer's parameters have no name"));
  EXPECT_THAT(make(sgd, {{"a", weight}, {"a", other}}), ThrowsWith<UsageError>("two parameters have one name"));
  EXPECT_THAT(make(sgd, named, {.backward_passes_per_step = 0}), ThrowsWith<UsageError>("backward_passes_per_step"));

  DistributedOptimizer optimizer(sgd, named, world());
  EXPECT_THAT([&] { optimizer.step(); }, ThrowsWith<UsageError>("no backward since the last step"));
  EXPECT_THAT([&] { optimizer.join(); }, ThrowsWith<UsageError>("uneven_inputs"));
  weight.sum().backward();
  EXPECT_THAT([&] { optimizer.zero_grad(); }, ThrowsWith<UsageError>("gradients are being reduced"));
  EXPECT_THAT([&] { weight.sum().backward(); }, ThrowsWith<UsageError>("'weight' was computed again before step()"));
  optimizer.step();
}

TEST(DistributedOptimizer, RanksWithOtherParametersAreNamedOnEveryRank) {
  if (world().size() == 1) GTEST_SKIP() << "nobody to differ from";
  const bool differs = world().rank() == 1;
  auto weight = torch::zeros({differs ? 3 : 2}, torch::requires_grad());
  torch::optim::SGD sgd({weight}, 1.0), empty(std::vector<torch::Tensor>{}, 1.0);
  const NamedTensors::List named{{"weight", weight}};
  EXPECT_THAT([&] { DistributedOptimizer(sgd, named, world()); },
              ThrowsWith<UsageError>("rank 1: 'weight' float32[3]"));
  EXPECT_THAT([&] { DistributedOptimizer(differs ? empty : sgd, named, world()); },
              ThrowsWith<UsageError>("the optimizer has no parameters"));
  auto same = torch::zeros({2}, torch::requires_grad());
  torch::optim::SGD of_same({same}, 1.0);
  EXPECT_THAT(
      [&] {
        DistributedOptimizer(of_same, NamedTensors::List{{"same", same}}, world(),
                             {.backward_passes_per_step = differs ? 2 : 1});
      },
      ThrowsWith<UsageError>("the ranks have different options"));
}

TEST(Broadcast, ParametersAndOptimizerStateBecomeThoseOfTheRoot) {
  auto net = seeded_net(static_cast<std::uint64_t>(world().rank()));
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.1 * (world().rank() + 1)));
  const Samples samples = rank_batch(0, world().rank(), world().size());
  for (int step = 0; step <= world().rank(); ++step) {
    adam.zero_grad();
    loss_of(net->forward(samples.inputs), samples).backward();
    adam.step();
  }
  const int root = world().size() - 1;
  broadcast_parameters(net->named_parameters(), world(), root);
  broadcast_optimizer_state(adam, world(), root);
  EXPECT_TRUE(equal_on_all_ranks(*net));
  EXPECT_EQ(adam.param_groups()[0].options().get_lr(), 0.1 * world().size());
  for (const auto& parameter : net->parameters()) {
    const auto& state = static_cast<torch::optim::AdamParamState&>(*adam.state().at(parameter.unsafeGetTensorImpl()));
    EXPECT_EQ(state.step(), world().size());
    const auto of_root = state.exp_avg().clone();
    world().broadcast(of_root, root);
    EXPECT_TRUE(state.exp_avg().equal(of_root));
  }
}

TEST(Broadcast, OptimizersThatDifferAreNamedOnEveryRank) {
  if (world().size() == 1) GTEST_SKIP() << "nobody to differ from";
  const auto weight = torch::zeros({2}, torch::requires_grad()), bias = torch::zeros({3}, torch::requires_grad());
  torch::optim::SGD sgd({weight}, 1.0), more({weight, bias}, 1.0), other({bias}, 1.0);
  torch::optim::Adam adam(std::vector{weight});
  const auto broadcast_with = [&](torch::optim::Optimizer& of_rank_1) {
    return [&] { broadcast_optimizer_state(world().rank() == 1 ? of_rank_1 : sgd, world()); };
  };
  EXPECT_THAT(broadcast_with(adam), ThrowsWith<UsageError>("rank 1: torch::optim::Adam; rank"));
  EXPECT_THAT(broadcast_with(adam), ThrowsWith<UsageError>(": torch::optim::SGD"));
  EXPECT_THAT(broadcast_with(more), ThrowsWith<UsageError>("rank 1: 'group 1, parameter 2' float32[3] on cpu"));
  EXPECT_THAT(broadcast_with(other), ThrowsWith<UsageError>("rank 1: 'group 1, parameter 1' float32[3] on cpu"));
  EXPECT_NO_THROW(broadcast_with(sgd)());
}

}  // namespace
}  // namespace lockstep::test

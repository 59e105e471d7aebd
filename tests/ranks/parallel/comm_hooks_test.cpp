#include <limits>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/parallel/distributed_data_parallel.h>

#include "world.h"

namespace lockstep::test {
namespace {

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) { return second(torch::tanh(first(x))); }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(40, 50));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(50, 1));
};
TORCH_MODULE(Net);

torch::Tensor input_of(int rank, int step) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(100 * step + rank));
  return torch::randn({8, 40}, generator);
}

// A function of the input that the net can learn.
torch::Tensor target_of(const torch::Tensor& input) {
  return torch::sin(input.narrow(1, 0, 3).sum(1, true));
}

torch::Tensor first_gradient(const CommHook& hook) {
  torch::manual_seed(5);
  Net net;
  DistributedDataParallel ddp(net, world(), {.hook = hook});
  const auto input = input_of(world().rank(), 0);
  torch::mse_loss(ddp.forward(input), target_of(input)).backward();
  return net->first->weight.grad().clone();
}

double relative_difference(const torch::Tensor& found, const torch::Tensor& expected) {
  return ((found - expected).norm() / expected.norm()).item<double>();
}

double train(const CommHook& hook, int steps) {
  torch::manual_seed(5);
  Net net;
  DistributedDataParallel ddp(net, world(), {.hook = hook});
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    const auto input = input_of(world().rank(), step % 4);
    torch::mse_loss(ddp.forward(input), target_of(input)).backward();
    optimizer.step();
  }
  const torch::NoGradGuard no_grad;
  const auto input = input_of(world().rank(), 0);
  const double loss = torch::mse_loss(net->forward(input), target_of(input)).item<double>();
  return world().all_reduce_value(loss, Reduce::kAverage);
}

TEST(CommHooks, CompressToSixteenBits) {
  const auto exact = first_gradient({});
  const double half = relative_difference(first_gradient(fp16_compression()), exact);
  const double brain = relative_difference(first_gradient(bf16_compression()), exact);
  // 11 and 8 bits of precision.
  EXPECT_LT(half, 1.0 / (1 << 10));
  EXPECT_LT(brain, 1.0 / (1 << 7));
  EXPECT_GT(half, 0);
  EXPECT_GT(brain, half);
}

TEST(CommHooks, CallTheUsersOwnFunction) {
  std::vector<std::size_t> seen;
  const CommHook doubling = [&](const GradientBucket& bucket, const Group& group) {
    seen.push_back(bucket.index);
    EXPECT_EQ(bucket.gradients.size(), bucket.parameters.size());
    for (std::size_t i = 0; i < bucket.gradients.size(); ++i) {
      EXPECT_EQ(bucket.gradients[i].sizes(), bucket.parameters[i].sizes());
    }
    return BucketWork{group.all_reduce_async(bucket.buffer, Reduce::kAverage),
                      [buffer = bucket.buffer] { buffer.mul_(2); }};
  };
  EXPECT_TRUE(torch::equal(first_gradient(doubling), first_gradient({}) * 2));
  EXPECT_THAT(seen, ::testing::ElementsAre(0));
}

TEST(PowerSgd, IsExactWhileItWarmsUpAndForMatricesOfItsRank) {
  EXPECT_TRUE(torch::equal(first_gradient(power_sgd()), first_gradient({})));
  // The gradient of a layer has no more than as many ranks as there are samples: here one or two of each of up to 4.
  for (const int samples : {1, 2}) {
    const auto gradient = [samples](const CommHook& hook) {
      torch::manual_seed(5);
      Net net;
      DistributedDataParallel ddp(net, world(), {.hook = hook});
      const auto input = input_of(world().rank(), 0).narrow(0, 0, samples);
      torch::mse_loss(ddp.forward(input), target_of(input)).backward();
      return net->first->weight.grad().clone();
    };
    const CommHook hook = power_sgd({.rank = 4 * samples, .start_iteration = 0});
    // The more columns, the nearer they are to depend on one another, which rounding is multiplied by.
    EXPECT_LT(relative_difference(gradient(hook), gradient({})), 1e-3);
  }
}

TEST(PowerSgd, LosesLessTheHigherItsRankIs) {
  const auto exact = first_gradient({});
  double lost = 1;
  for (const int rank : {1, 4, 8}) {
    const double here = relative_difference(first_gradient(power_sgd({.rank = rank, .start_iteration = 0})), exact);
    EXPECT_LT(here, lost) << rank;
    lost = here;
  }
}

// What a step leaves out comes with later ones: the same gradient again and again is right on average.
TEST(PowerSgd, LosesDetail_AndMakesUpForItLater) {
  constexpr int kTimes = 100;
  torch::manual_seed(5);
  Net net;
  DistributedDataParallel ddp(net, world(), {.hook = power_sgd({.rank = 1, .start_iteration = 0})});
  const auto input = input_of(world().rank(), 0);
  const auto exact = first_gradient({});
  auto sum = torch::zeros_like(exact);
  double least_error = 1;
  for (int i = 0; i < kTimes; ++i) {
    net->zero_grad();
    torch::mse_loss(ddp.forward(input), target_of(input)).backward();
    sum += net->first->weight.grad();
    least_error = std::min(least_error, relative_difference(net->first->weight.grad(), exact));
  }
  EXPECT_GT(least_error, 0.15);
  EXPECT_LT(relative_difference(sum / kTimes, exact), 0.1);
}

TEST(PowerSgd, TrainsAsFarAsExactGradientsDo) {
  const double untrained = train({}, 0);
  EXPECT_LT(train({}, 150), untrained / 2);
  EXPECT_LT(train(power_sgd({.rank = 1, .start_iteration = 0}), 150), untrained / 2);
}

TEST(PowerSgd, GoesOnAfterAStepThatIsNotFinite) {
  torch::manual_seed(5);
  Net net;
  DistributedDataParallel ddp(net, world(),
                              {.check_gradients = false, .hook = power_sgd({.rank = 2, .start_iteration = 0})});
  for (int step = 0; step < 4; ++step) {
    net->zero_grad();
    auto input = input_of(world().rank(), step);
    if (step == 1 && world().rank() == 0) input[0][0] = std::numeric_limits<float>::quiet_NaN();
    torch::mse_loss(ddp.forward(input), target_of(torch::nan_to_num(input))).backward();
    EXPECT_EQ(torch::isfinite(net->first->weight.grad()).all().item<bool>(), step != 1) << step;
  }
}

TEST(PowerSgd, TakesGradientsOf16Bits) {
  const auto gradient = [](const CommHook& hook) {
    torch::manual_seed(5);
    Net net;
    net->to(torch::kBFloat16);
    DistributedDataParallel ddp(net, world(), {.hook = hook});
    const auto input = input_of(world().rank(), 0).narrow(0, 0, 1);
    torch::mse_loss(ddp.forward(input.to(torch::kBFloat16)), target_of(input).to(torch::kBFloat16)).backward();
    return net->first->weight.grad().to(torch::kFloat);
  };
  const CommHook hook = power_sgd({.rank = 4, .start_iteration = 0});
  EXPECT_LT(relative_difference(gradient(hook), gradient({})), 0.05);  // several roundings to 8 bits
}

TEST(PowerSgd, RefusesRanksThatItDoesNotHave) {
  EXPECT_THROW(power_sgd({.rank = 0}), UsageError);
  EXPECT_THROW(power_sgd({.rank = 9}), UsageError);
}

}  // namespace
}  // namespace lockstep::test

// Mixed precision on several ranks: all of them skip the same steps.
#include <limits>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/amp/check_loss.h>
#include <lockstep/amp/grad_scaler.h>
#include <lockstep/amp/prepare.h>
#include <lockstep/base/errors.h>
#include <lockstep/optim/sgd.h>
#include <lockstep/parallel/distributed_data_parallel.h>
#include <lockstep/parallel/distributed_optimizer.h>
#include <lockstep/parallel/sync_batch_norm.h>
#include <lockstep/parallel/zero_redundancy_optimizer.h>

#include "throws_with.h"
#include "world.h"

namespace lockstep::test {
namespace {

using amp::GradScaler;
using torch::optim::SGDOptions;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool same_on_all(const at::Tensor& tensor) {
  for (const at::Tensor& other : world().all_gather(tensor.detach())) {
    if (!other.equal(tensor)) return false;
  }
  return true;
}

// This rank's slope at a step: infinite on one rank at each odd one.
float slope(int step) {
  const bool overflows = step % 2 == 1 && world().rank() == step % world().size();
  return overflows ? kInfinity : static_cast<float>(world().rank() + 1);
}

void backward(GradScaler& scaler, const at::Tensor& weight, int step) {
  weight.mutable_grad().reset();
  scaler.scale((weight * slope(step)).sum()).backward();
}

TEST(GradScaler, AnInfinityOnOneRankMakesAllSkip) {
  for (const bool on_device : {true, false}) {
    GradScaler scaler({.initial_scale = 1024, .growth_interval = 2, .group = world()});
    const auto weight = torch::zeros({3}).requires_grad_();
    const std::unique_ptr<torch::optim::Optimizer> sgd =
        on_device ? std::unique_ptr<torch::optim::Optimizer>(new optim::Sgd({weight}, SGDOptions(1)))
                  : std::make_unique<torch::optim::SGD>(std::vector{weight}, SGDOptions(1));
    for (int step = 0; step < 5; ++step) {
      backward(scaler, weight, step);
      scaler.step(*sgd);
      scaler.update();
    }
    EXPECT_TRUE(weight.equal(torch::full({3}, -3.0 * (world().rank() + 1))));
    EXPECT_EQ(scaler.skipped_steps(), 2);
    EXPECT_EQ(scaler.loss_scale(), 256);
    for (const auto& value : scaler.state()) EXPECT_TRUE(same_on_all(value.value())) << value.key();
  }
}

// The last rank has parameters that this step did not use.
TEST(GradScaler, ARankWithoutGradientsTakesPart) {
  GradScaler scaler({.initial_scale = 1024, .group = world()});
  const bool has_none = world().rank() == world().size() - 1;
  const auto weight = torch::zeros({3}).requires_grad_();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  for (const float slope : {1.0F, kInfinity, 1.0F}) {
    weight.mutable_grad().reset();
    const auto loss = scaler.scale((weight * slope).sum());
    if (!has_none) loss.backward();
    scaler.step(sgd);
    scaler.update();
  }
  EXPECT_TRUE(weight.equal(torch::full({3}, has_none ? 0.0 : -2.0)));
  EXPECT_EQ(scaler.skipped_steps(), 1);
  EXPECT_EQ(scaler.loss_scale(), 512);
}

TEST(GradScaler, GradientsInFp16OnOneRankAreAnErrorThereAndASkippedStepElsewhere) {
  GradScaler scaler({.initial_scale = 1024, .group = world()});
  const auto type = world().rank() == 0 ? at::kHalf : at::kFloat;
  const auto weight = torch::zeros({3}, torch::dtype(type).requires_grad(true));
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  backward(scaler, weight, 0);
  if (world().rank() == 0) {
    EXPECT_THAT([&] { scaler.step(sgd); }, ThrowsWith<UsageError>("gradients in fp16"));
  } else {
    scaler.step(sgd);
    scaler.update();
    EXPECT_EQ(scaler.skipped_steps(), 1);
  }
  EXPECT_TRUE(weight.equal(torch::zeros({3}, type)));
}

TEST(GradScaler, WithoutAGroupARankSkipsByItself) {
  GradScaler scaler({.initial_scale = 1024});
  const auto weight = torch::zeros({3}).requires_grad_();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  backward(scaler, weight, 1);
  scaler.step(sgd);
  scaler.update();
  EXPECT_EQ(scaler.skipped_steps(), world().rank() == 1 ? 1 : 0);
}

struct NetImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return last(torch::relu(norm(convolution(x))).mean({2, 3})); }
  torch::nn::Conv2d convolution = register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 8, 3)));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(8));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(8, 3));
};
TORCH_MODULE(Net);

// O2: gradients travel in 16 bits, and since all ranks have the same, no group is needed. At step 2 one rank's input
// is broken.
TEST(MasterWeights, StayEqualUnderDistributedDataParallel) {
  const auto precision = amp::parse_precision("O2", {.dtype = at::kBFloat16, .loss_scale = "dynamic"});
  torch::manual_seed(static_cast<std::uint64_t>(world().rank()));
  Net net;
  amp::prepare(*net, precision);
  DistributedDataParallel ddp(net, world(), {.check_gradients = !precision.skips_steps()});
  const amp::MasterWeights weights(*net, precision);
  torch::optim::SGD sgd(weights.parameters(), SGDOptions(0.2).momentum(0.9));
  GradScaler scaler(amp::scaler_options(precision, weights));
  const auto labels = torch::arange(9) % 3;
  const auto images = torch::randn({9, 2, 6, 6}) + labels.view({-1, 1, 1, 1});
  std::vector<double> losses;
  for (int step = 0; step < 12; ++step) {
    net->zero_grad();
    const auto scores = amp::cast_output(ddp.forward(amp::cast_input(images, precision)));
    auto loss = torch::nn::functional::cross_entropy(scores, labels);
    losses.push_back(loss.item<double>());
    if (step == 2 && world().rank() == 1) loss = loss * kInfinity;
    scaler.scale(loss).backward();
    EXPECT_EQ(net->convolution->weight.grad().scalar_type(), at::kBFloat16);
    const auto before = weights.parameters().front().detach().clone();
    scaler.step(sgd);
    scaler.update();
    EXPECT_EQ(weights.parameters().front().equal(before), step == 2);
  }
  EXPECT_EQ(scaler.skipped_steps(), 1);
  EXPECT_LT(losses.back(), losses.front());
  for (const auto& parameter : weights.parameters()) EXPECT_TRUE(same_on_all(parameter));
  for (const auto& parameter : net->parameters()) EXPECT_TRUE(same_on_all(parameter));
}

TEST(Prepare, KeepsASynchronizedNormalizationInFp32) {
  const auto precision = amp::parse_precision("O2", {.dtype = at::kBFloat16});
  torch::manual_seed(1);
  torch::nn::Sequential net(torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 4, 3)), torch::nn::BatchNorm2d(4));
  ASSERT_EQ(convert_sync_batch_norm(*net, world()), 1);
  amp::prepare(*net, precision);
  const auto images = torch::randn({4, 2, 6, 6}) + world().rank();
  const auto output = net->forward(amp::cast_input(images, precision));
  EXPECT_EQ(output.scalar_type(), at::kBFloat16);
  amp::cast_output(output).square().sum().backward();
  EXPECT_EQ(net->named_parameters()["0.weight"].grad().scalar_type(), at::kBFloat16);
  EXPECT_EQ(net->named_parameters()["1.weight"].grad().scalar_type(), at::kFloat);
  const auto mean = net->named_buffers()["1.running_mean"];
  EXPECT_EQ(mean.scalar_type(), at::kFloat);
  EXPECT_TRUE(same_on_all(mean));
}

TEST(GradScaler, StepsWithADistributedOptimizer) {
  GradScaler scaler({.initial_scale = 1024});
  const auto weight = torch::zeros({3}).requires_grad_();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  DistributedOptimizer optimizer(sgd, NamedTensors::List{{"weight", weight}}, world(), {.check_gradients = false});
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    scaler.scale((weight * slope(step)).sum()).backward();
    if (step >= 2) scaler.unscale(optimizer);
    scaler.step(optimizer);
    scaler.update();
  }
  const double average = (world().size() + 1) / 2.0;
  EXPECT_TRUE(weight.equal(torch::full({3}, -2 * average)));
  EXPECT_EQ(scaler.skipped_steps(), 2);
  EXPECT_EQ(scaler.loss_scale(), 256);
}

TEST(GradScaler, StepsWithZero) {
  GradScaler scaler({.initial_scale = 1024, .group = world()});
  const auto first = torch::zeros({3}).requires_grad_(), second = torch::zeros({3}).requires_grad_();
  ZeroRedundancyOptimizer zero(
      NamedTensors::List{{"first", first}, {"second", second}},
      [](const auto& share) { return std::make_unique<torch::optim::SGD>(share, SGDOptions(1)); }, world());
  for (int step = 0; step < 3; ++step) {
    zero.zero_grad();
    scaler.scale((first + second * (step == 1 && world().rank() == 0 ? kInfinity : 1.0F)).sum()).backward();
    scaler.step(zero);
    scaler.update();
  }
  EXPECT_TRUE(first.equal(torch::full({3}, -2.0)));
  EXPECT_TRUE(second.equal(torch::full({3}, -2.0)));
}

TEST(CheckLoss, ALossThatIsNotFiniteIsNamedOnAllRanks) {
  const auto check = [](int bad, int step) {
    amp::check_loss(world().rank() == bad ? kInfinity : 1.0, {.step = step, .scale = 64, .group = world()});
  };
  EXPECT_NO_THROW(check(-1, 1));
  EXPECT_THAT([&] { check(1, 7); },
              ThrowsWith<RuntimeError>("the loss is inf at step 7 on rank 1; the last loss scale was 64"));
  EXPECT_THAT([] { amp::check_loss(std::nan(""), {.step = 8, .group = world()}); },
              ThrowsWith<RuntimeError>("on ranks 0, 1"));
  EXPECT_NO_THROW(check(-1, 9)) << "the group goes on";
}

}  // namespace
}  // namespace lockstep::test

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/exponential_moving_average.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

using Ema = optim::ExponentialMovingAverage;

// A weight, one of 16 bits, a running statistic and a count.
struct NetImpl : torch::nn::Module {
  torch::Tensor weight = register_parameter("weight", torch::full({2}, 8.0));
  torch::Tensor half = register_parameter("half", torch::ones({2}, torch::kBFloat16));
  torch::Tensor mean = register_buffer("mean", torch::full({2}, 4.0));
  torch::Tensor count = register_buffer("count", torch::full({}, 1, torch::kLong));

  void set(double value) {
    const torch::NoGradGuard no_gradients;
    for (auto& tensor : {weight, half, mean, count}) tensor.fill_(value);
  }
};
TORCH_MODULE(Net);

double first(const Ema& ema, const char* name) {
  return ema.state().at(name).flatten()[0].item<double>();
}

TEST(ExponentialMovingAverage, MovesByWhatTheDecayLeaves) {
  Net net;
  Ema ema(net.ptr(), {.decay = 0.75});
  net->set(16);
  ema.update();
  EXPECT_EQ(first(ema, "weight"), 10);
  EXPECT_EQ(first(ema, "mean"), 7);
  EXPECT_EQ(first(ema, "count"), 16);  // a number of batches has no average
  ema.update();
  EXPECT_EQ(first(ema, "weight"), 11.5);
  EXPECT_EQ(ema.updates(), 2);
}

TEST(ExponentialMovingAverage, BuffersMayBeCopied) {
  Net net;
  Ema ema(net.ptr(), {.decay = 0.75, .average_buffers = false});
  net->set(16);
  ema.update();
  EXPECT_EQ(first(ema, "mean"), 16);
}

TEST(ExponentialMovingAverage, WarmsUp) {
  Net net;
  Ema ema(net.ptr(), {.decay = 0.999, .warm_up = true});
  net->set(19);
  ema.update();  // with a decay of 2 / 11
  EXPECT_NEAR(first(ema, "weight"), 19 - 11 * 2.0 / 11, 1e-5);
  ema.update();  // of 3 / 12
  EXPECT_NEAR(first(ema, "weight"), 19 - 2 * 3.0 / 12, 1e-5);
}

TEST(ExponentialMovingAverage, SmallChangesOf16BitWeightsAreNotLost) {
  Net net;
  Ema ema(net.ptr(), {.decay = 0.999});
  net->set(2);
  for (int i = 0; i < 100; ++i) ema.update();
  EXPECT_NEAR(first(ema, "half"), 2 - std::pow(0.999, 100), 1e-4);
}

TEST(ExponentialMovingAverage, IsUsedAndGivenBack) {
  Net net;
  Ema ema(net.ptr(), {.decay = 0.5});
  net->set(16);
  ema.update();
  const void* memory = net->weight.data_ptr();
  {
    const auto averaged = ema.use();
    EXPECT_EQ(net->weight[0].item<double>(), 12);
    EXPECT_EQ(net->half[0].item<double>(), 8.5);
    EXPECT_EQ(net->mean[0].item<double>(), 10);
    EXPECT_EQ(net->weight.data_ptr(), memory);
    EXPECT_THAT([&] { ema.update(); }, ThrowsWith<UsageError>("averaged weights"));
    EXPECT_THAT([&] { const auto again = ema.use(); }, ThrowsWith<UsageError>("already"));
  }
  EXPECT_EQ(net->weight[0].item<double>(), 16);
  EXPECT_EQ(net->half[0].item<double>(), 16);
  EXPECT_EQ(net->count.item<double>(), 16);
  EXPECT_EQ(first(ema, "weight"), 12);
  ema.update();
}

TEST(ExponentialMovingAverage, GoesOnFromItsState) {
  Net first_net, second_net;
  Ema one(first_net.ptr(), {.decay = 0.9, .warm_up = true}), other(second_net.ptr(), {.decay = 0.9, .warm_up = true});
  first_net->set(3);
  for (int i = 0; i < 5; ++i) one.update();
  other.load_state(one.state());
  second_net->set(3);
  one.update();
  other.update();
  EXPECT_EQ(one.updates(), other.updates());
  for (const auto& [name, tensor] : one.state()) EXPECT_TRUE(tensor.equal(other.state().at(name))) << name;
}

TEST(ExponentialMovingAverage, RefusesAnotherModelsState) {
  Net net;
  Ema ema(net.ptr());
  const auto whole = ema.state();
  auto missing = whole, unknown = whole, misshapen = whole;
  missing.erase("mean");
  unknown["means"] = torch::ones({2});
  misshapen["weight"] = torch::ones({3});
  EXPECT_THAT([&] { ema.load_state(missing); }, ThrowsWith<UsageError>("no 'mean'"));
  EXPECT_THAT([&] { ema.load_state(unknown); }, ThrowsWith<UsageError>("means"));
  EXPECT_THAT([&] { ema.load_state(misshapen); }, ThrowsWith<UsageError>("[3]"));
  EXPECT_THAT([&] { Ema(net.ptr(), {.decay = 1.5}); }, ThrowsWith<UsageError>("1.5"));
}

}  // namespace
}  // namespace lockstep::test

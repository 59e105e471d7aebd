#include <lockstep/amp/grad_scaler.h>

#include <limits>

#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/device_step.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

using amp::GradScaler;
using amp::GradScalerOptions;
using torch::optim::SGDOptions;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

at::Tensor parameter(double value = 1) {
  return torch::full({2}, value).requires_grad_();
}

// Backward through a scaled loss whose gradient is (slope, 1) in each element, before the scale.
void backward(GradScaler& scaler, const std::vector<at::Tensor>& parameters, float slope = 1) {
  at::Tensor loss = torch::zeros({});
  for (const at::Tensor& parameter : parameters) {
    parameter.mutable_grad().reset();
    loss = loss + (parameter * torch::tensor({slope, 1.0F})).sum();
  }
  scaler.scale(loss).backward();
}

TEST(GradScaler, ScalesTheLossAndUnscalesTheGradients) {
  GradScaler scaler({.initial_scale = 8});
  const auto weight = parameter();
  torch::optim::SGD sgd({weight}, SGDOptions(0.5));
  backward(scaler, {weight}, 3);
  EXPECT_TRUE(weight.grad().equal(torch::tensor({24.0F, 8.0F})));
  scaler.unscale(sgd);
  EXPECT_TRUE(weight.grad().equal(torch::tensor({3.0F, 1.0F})));
  scaler.step(sgd);
  scaler.update();
  EXPECT_TRUE(weight.equal(torch::tensor({-0.5F, 0.5F})));
  const auto outputs = scaler.scale(std::vector{torch::ones({}), torch::full({}, 2.0)});
  EXPECT_EQ(outputs[0].item<double>(), 8);
  EXPECT_EQ(outputs[1].item<double>(), 16);
}

TEST(GradScaler, UnscalesAParameterOfSeveralNamesOnce) {
  GradScaler scaler({.initial_scale = 8});
  const auto tied = parameter();
  torch::optim::SGD sgd({tied, tied}, SGDOptions(1));
  backward(scaler, {tied}, 3);
  scaler.unscale(sgd);
  EXPECT_TRUE(tied.grad().equal(torch::tensor({3.0F, 1.0F})));
}

TEST(GradScaler, ClippingSeesUnscaledGradients) {
  GradScaler scaler;
  const auto weight = parameter();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  backward(scaler, {weight});
  scaler.unscale(sgd);
  EXPECT_NEAR(torch::nn::utils::clip_grad_norm_({weight}, 0.1), std::sqrt(2.0), 1e-6);
  scaler.step(sgd);
  EXPECT_NEAR(weight[0].item<float>(), 1 - 0.1 / std::sqrt(2.0), 1e-5);
}

TEST(GradScaler, SkipsAStepThatOverflowsAndBacksOff_ThenGrows) {
  GradScaler scaler({.initial_scale = 16, .growth_factor = 4, .backoff_factor = 0.25, .growth_interval = 2});
  const auto weight = parameter();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  std::vector<double> scales;
  std::vector<std::int64_t> trackers;
  for (const float slope : {1.0F, kInfinity, 1.0F, 1.0F, kNan, 1.0F}) {
    const auto before = weight.detach().clone();
    backward(scaler, {weight}, slope);
    scaler.step(sgd);
    scaler.update();
    EXPECT_EQ(weight.equal(before), !std::isfinite(slope));
    scales.push_back(scaler.loss_scale());
    trackers.push_back(scaler.growth_tracker());
  }
  EXPECT_THAT(scales, ::testing::ElementsAre(16, 4, 4, 16, 4, 4));
  EXPECT_THAT(trackers, ::testing::ElementsAre(1, 0, 1, 0, 0, 1));
  EXPECT_EQ(scaler.steps(), 6);
  EXPECT_EQ(scaler.skipped_steps(), 2);
  EXPECT_TRUE(weight.equal(torch::full({2}, -3.0)));
}

TEST(GradScaler, AStaticScaleStaysAndStillSkips) {
  GradScaler scaler({.initial_scale = 128, .growth_interval = 1, .dynamic = false});
  const auto weight = parameter();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  for (const float slope : {1.0F, kInfinity, 1.0F}) {
    backward(scaler, {weight}, slope);
    scaler.step(sgd);
    scaler.update();
    EXPECT_EQ(scaler.loss_scale(), 128);
  }
  EXPECT_TRUE(weight.equal(torch::full({2}, -1.0)));
  EXPECT_EQ(scaler.skipped_steps(), 1);
}

TEST(GradScaler, DisabledItOnlySteps) {
  GradScaler scaler({.enabled = false});
  const auto weight = parameter();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  const auto loss = torch::ones({});
  EXPECT_TRUE(scaler.scale(loss).is_same(loss));
  for (int step = 0; step < 2; ++step) {
    backward(scaler, {weight}, kInfinity);
    scaler.unscale(sgd);
    scaler.step(sgd);
  }
  scaler.update();
  EXPECT_TRUE(weight.equal(torch::tensor({-kInfinity, -1.0F})));
  EXPECT_EQ(scaler.loss_scale(), 1);
  EXPECT_EQ(scaler.growth_tracker(), 0);
  EXPECT_TRUE(scaler.state().is_empty());
  EXPECT_NO_THROW(scaler.load_state(torch::OrderedDict<std::string, at::Tensor>()));
}

TEST(GradScaler, SeveralOptimizersAreSkippedByThemselves) {
  GradScaler scaler({.initial_scale = 16});
  const auto good = parameter(), bad = parameter();
  torch::optim::SGD first({good}, SGDOptions(1)), second({bad}, SGDOptions(1));
  backward(scaler, {good, bad});
  bad.mutable_grad().fill_(kInfinity);
  scaler.unscale(first);
  scaler.step(second);
  scaler.step(first);
  scaler.update();
  EXPECT_TRUE(good.equal(torch::zeros({2})));
  EXPECT_TRUE(bad.equal(torch::ones({2})));
  EXPECT_EQ(scaler.loss_scale(), 8);
  EXPECT_EQ(scaler.skipped_steps(), 1) << "a step counts once";
}

// Remembers what a scaler gives it.
class DeviceSgd : public torch::optim::SGD, public optim::DeviceStep {
 public:
  using SGD::SGD;

  at::Tensor step(LossClosure /*closure*/ = nullptr) override {
    const torch::NoGradGuard no_gradients;
    ++calls;
    given = found_inf;
    const double rate = param_groups().front().options().get_lr();
    for (auto& parameter : param_groups().front().params()) {
      at::Tensor gradient = parameter.grad();
      if (scale.defined()) gradient = gradient / scale;
      const at::Tensor next = parameter - rate * gradient;
      parameter.copy_(found_inf.defined() ? torch::where(found_inf > 0, parameter, next) : next);
    }
    return {};
  }

  void set_gradient_scale(at::Tensor new_scale, at::Tensor new_found_inf) override {
    scale = std::move(new_scale);
    found_inf = std::move(new_found_inf);
  }
  void keep_rates_on_device() override {}
  void refresh_rates() override {}

  at::Tensor scale, found_inf;
  at::Tensor given;  // the flag of the last step
  int calls = 0;
};

TEST(GradScaler, ADeviceStepReadsTheFlagItself) {
  GradScaler scaler({.initial_scale = 16});
  const auto weight = parameter();
  DeviceSgd sgd({weight}, SGDOptions(1));
  backward(scaler, {weight}, kInfinity);
  scaler.step(sgd);
  scaler.update();
  EXPECT_EQ(sgd.calls, 1) << "the host does not decide";
  EXPECT_EQ(sgd.given.item<float>(), 1);
  EXPECT_TRUE(weight.equal(torch::ones({2})));
  EXPECT_EQ(scaler.loss_scale(), 8);
  EXPECT_FALSE(sgd.found_inf.defined()) << "a step without the scaler is not skipped";

  const auto flag = sgd.given;
  backward(scaler, {weight});
  scaler.step(sgd);
  EXPECT_TRUE(sgd.given.is_same(flag)) << "a graph reads the same memory each time";
  EXPECT_EQ(flag.item<float>(), 0);
  EXPECT_TRUE(weight.equal(torch::zeros({2})));
}

// Wraps an optimizer as DistributedOptimizer does.
struct Reducing {
  torch::optim::Optimizer& optimizer() { return inner; }
  void synchronize() {
    calls += "s";
    if (on_synchronize) on_synchronize();
  }
  void step() {
    calls += "t";
    inner.step();
  }
  torch::optim::Optimizer& inner;
  std::string calls = {};
  std::function<void()> on_synchronize = {};
};

TEST(GradScaler, ReducesBeforeItUnscales_TheWayOfHorovod) {
  GradScaler scaler({.initial_scale = 16});
  const auto weight = parameter();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  Reducing reducing{.inner = sgd, .on_synchronize = [&] { weight.mutable_grad().mul_(2); }};
  backward(scaler, {weight});
  scaler.step(reducing);
  scaler.update();
  EXPECT_EQ(reducing.calls, "st");
  EXPECT_TRUE(weight.equal(torch::full({2}, -1.0)));

  backward(scaler, {weight});
  scaler.unscale(reducing);
  EXPECT_TRUE(weight.grad().equal(torch::full({2}, 2.0)));
  scaler.step(reducing);
  scaler.update();
  EXPECT_EQ(reducing.calls, "stst") << "not reduced a second time";

  reducing.on_synchronize = [&] { weight.mutable_grad().fill_(kInfinity); };  // from another rank
  backward(scaler, {weight});
  scaler.step(reducing);
  scaler.update();
  EXPECT_EQ(reducing.calls, "ststs");
  EXPECT_EQ(scaler.loss_scale(), 8);

  GradScaler disabled({.enabled = false});
  backward(disabled, {weight});
  disabled.step(reducing);
  EXPECT_EQ(reducing.calls, "ststst");
}

TEST(GradScaler, TakesGradientsOfSeveralTypesAndSparseOnes) {
  GradScaler scaler({.initial_scale = 4});
  const auto wide = torch::ones({2}, torch::dtype(at::kDouble).requires_grad(true));
  const auto low = torch::ones({2}, torch::dtype(at::kBFloat16).requires_grad(true));
  const auto table = torch::zeros({4, 2}, torch::requires_grad());
  const auto unused = parameter();
  torch::optim::SGD sgd({wide, low, table, unused}, SGDOptions(1));
  const auto step = [&](double factor) {
    sgd.zero_grad();
    const auto rows = torch::nn::functional::embedding(torch::tensor({1, 1, 3}), table,
                                                       torch::nn::functional::EmbeddingFuncOptions().sparse(true));
    scaler.scale(wide.sum() + low.sum() + rows.sum() * factor).backward();
    ASSERT_TRUE(table.grad().is_sparse());
    scaler.step(sgd);
    scaler.update();
  };
  step(1);
  EXPECT_TRUE(wide.equal(torch::zeros({2}, at::kDouble)));
  EXPECT_TRUE(low.equal(torch::zeros({2}, at::kBFloat16)));
  EXPECT_TRUE(table.select(1, 0).equal(torch::tensor({0.0F, -2.0F, 0.0F, -1.0F})));
  step(kInfinity);
  EXPECT_TRUE(wide.equal(torch::zeros({2}, at::kDouble))) << "all are skipped";
  EXPECT_EQ(scaler.loss_scale(), 2);
}

TEST(GradScaler, RefusesGradientsInFp16UnlessToldThatTheyAreMeant) {
  const auto weight = torch::ones({2}, torch::dtype(at::kHalf).requires_grad(true));
  const auto table = torch::zeros({2, 1}, torch::dtype(at::kHalf).requires_grad(true));
  torch::optim::SGD sgd({weight, table}, SGDOptions(1));
  const auto set_gradients = [&](double sparse) {
    weight.mutable_grad() = torch::full({2}, 4.0, at::kHalf);
    table.mutable_grad() = torch::sparse_coo_tensor(torch::tensor({{1, 1}}), torch::full({2, 1}, sparse, at::kHalf));
  };
  GradScaler strict({.initial_scale = 4}), meant({.initial_scale = 4, .half_gradients = true});
  strict.scale(torch::ones({}));
  meant.scale(torch::ones({}));
  set_gradients(4);
  EXPECT_THAT([&] { strict.unscale(sgd); }, ThrowsWith<UsageError>("fp16"));
  meant.unscale(sgd);
  EXPECT_TRUE(weight.grad().equal(torch::ones({2}, at::kHalf)));
  EXPECT_TRUE(table.grad().to_dense().equal(torch::tensor({{0.0F}, {2.0F}}).to(at::kHalf)));
  meant.step(sgd);
  meant.update();
  set_gradients(60000);  // two of them are more than fp16 can hold
  meant.unscale(sgd);
  meant.step(sgd);
  meant.update();
  EXPECT_EQ(meant.skipped_steps(), 1);
}

TEST(GradScaler, ANewScaleCanBeGiven) {
  GradScaler scaler({.initial_scale = 4});
  const auto weight = parameter();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  backward(scaler, {weight}, kInfinity);
  scaler.step(sgd);
  scaler.update(512);
  EXPECT_EQ(scaler.loss_scale(), 512) << "not backed off";
  EXPECT_EQ(scaler.skipped_steps(), 1);
  scaler.update(64);
  EXPECT_EQ(scaler.loss_scale(), 64);
  for (const double wrong : {0.0, -1.0, static_cast<double>(kInfinity), static_cast<double>(kNan)}) {
    EXPECT_THAT([&] { scaler.update(wrong); }, ThrowsWith<UsageError>("new_scale"));
  }
  EXPECT_EQ(scaler.loss_scale(), 64);
}

TEST(GradScaler, CallsOutOfOrderAreErrors) {
  GradScaler scaler;
  const auto weight = parameter();
  torch::optim::SGD sgd({weight}, SGDOptions(1));
  EXPECT_THAT([&] { scaler.unscale(sgd); }, ThrowsWith<UsageError>("unscale() before scale()"));
  EXPECT_THAT([&] { scaler.step(sgd); }, ThrowsWith<UsageError>("step() before scale()"));
  EXPECT_THAT([&] { scaler.update(); }, ThrowsWith<UsageError>("update() before scale()"));
  scaler.scale(torch::ones({}));
  EXPECT_THAT([&] { scaler.update(); }, ThrowsWith<UsageError>("update() before any step()"));
  EXPECT_THAT([&] { scaler.step(sgd); }, ThrowsWith<UsageError>("no gradient"));
  backward(scaler, {weight});
  scaler.unscale(sgd);
  EXPECT_THAT([&] { scaler.unscale(sgd); }, ThrowsWith<UsageError>("unscale() was already called"));
  scaler.step(sgd);
  EXPECT_THAT([&] { scaler.unscale(sgd); }, ThrowsWith<UsageError>("unscale() after step()"));
  EXPECT_THAT([&] { scaler.step(sgd); }, ThrowsWith<UsageError>("step() was already called"));
  scaler.update();
  EXPECT_THAT([&] { scaler.update(); }, ThrowsWith<UsageError>("update() before any step()"));
  scaler.step(sgd);
}

TEST(GradScaler, OptionsThatMakeNoSenseAreRefused) {
  const auto make = [](GradScalerOptions options) { return [options] { GradScaler scaler(options); }; };
  EXPECT_THAT(make({.initial_scale = 0}), ThrowsWith<UsageError>("initial_scale"));
  EXPECT_THAT(make({.growth_factor = 1}), ThrowsWith<UsageError>("growth_factor"));
  EXPECT_THAT(make({.backoff_factor = 1}), ThrowsWith<UsageError>("backoff_factor"));
  EXPECT_THAT(make({.growth_interval = 0}), ThrowsWith<UsageError>("growth_interval"));
}

TEST(GradScaler, GoesOnFromItsState) {
  const std::vector<float> slopes = {1, 1, kInfinity, 1, 1, 1, kNan, 1, 1, 1, 1};
  const GradScalerOptions options{.initial_scale = 64, .growth_interval = 3};
  const auto whole_weight = parameter(), weight = parameter();
  torch::optim::SGD whole_sgd({whole_weight}, SGDOptions(1)), sgd({weight}, SGDOptions(1));
  GradScaler whole(options);
  auto part = std::make_unique<GradScaler>(options);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    if (i % 2 == 1) {
      const auto state = part->state();
      part = std::make_unique<GradScaler>(GradScalerOptions{.initial_scale = 3, .growth_interval = 9});
      if (i % 4 == 1) part->scale(torch::ones({}));  // one that is on its device already
      part->load_state(state);
    }
    for (auto [scaler, optimizer, parameter] :
         {std::tuple{&whole, &whole_sgd, whole_weight}, std::tuple{part.get(), &sgd, weight}}) {
      backward(*scaler, {parameter}, slopes[i]);
      scaler->step(*optimizer);
      scaler->update();
    }
    EXPECT_EQ(part->loss_scale(), whole.loss_scale()) << "step " << i;
    EXPECT_EQ(part->growth_tracker(), whole.growth_tracker()) << "step " << i;
  }
  EXPECT_EQ(part->steps(), static_cast<std::int64_t>(slopes.size()));
  EXPECT_EQ(part->skipped_steps(), 2);
  EXPECT_TRUE(weight.equal(whole_weight));
  auto incomplete = whole.state();
  incomplete.erase("growth_tracker");
  EXPECT_THAT([&] { part->load_state(incomplete); }, ThrowsWith<UsageError>("no 'growth_tracker'"));
  EXPECT_EQ(part->loss_scale(), whole.loss_scale());
}

}  // namespace
}  // namespace lockstep::test

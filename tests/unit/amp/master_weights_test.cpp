#include <lockstep/amp/master_weights.h>

#include <torch/torch.h>

#include <lockstep/amp/grad_scaler.h>
#include <lockstep/amp/prepare.h>
#include <lockstep/base/errors.h>
#include <lockstep/optim/sgd.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

using amp::MasterWeights;
using torch::optim::SGDOptions;

const amp::Precision kO2 = amp::parse_precision("O2", {.dtype = at::kBFloat16});

torch::nn::Sequential make_net() {
  torch::manual_seed(4);
  torch::nn::Sequential net(torch::nn::Linear(4, 4), torch::nn::BatchNorm1d(4), torch::nn::Linear(4, 1));
  amp::prepare(*net, kO2);
  return net;
}

void set_gradients(const torch::nn::Module& module, double value) {
  for (const auto& parameter : module.parameters()) parameter.mutable_grad() = torch::full_like(parameter, value);
}

TEST(MasterWeights, AreCopiesInFp32OfWhatHas16Bits) {
  const auto net = make_net();
  net->parameters()[0].requires_grad_(false);
  const MasterWeights weights(*net, kO2);
  const auto named = net->named_parameters();
  ASSERT_EQ(weights.parameters().size(), named.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto &master = weights.parameters()[i], &model = named[i].value();
    EXPECT_EQ(master.scalar_type(), at::kFloat);
    EXPECT_EQ(master.requires_grad(), model.requires_grad());
    EXPECT_TRUE(master.equal(model.to(at::kFloat)));
    EXPECT_EQ(master.is_same(model), named[i].key().starts_with("1.")) << named[i].key();
    EXPECT_EQ(weights.named_parameters()[i].key(), named[i].key());
  }
  EXPECT_TRUE(weights.has_copies());
}

TEST(MasterWeights, AreTheParametersThemselvesWhereNoneAreAskedFor) {
  const auto net = make_net();
  const MasterWeights weights(*net, amp::parse_precision("O3", {.dtype = at::kBFloat16}));
  for (std::size_t i = 0; i < net->parameters().size(); ++i) {
    EXPECT_TRUE(weights.parameters()[i].is_same(net->parameters()[i]));
  }
  EXPECT_FALSE(weights.has_copies());
  EXPECT_TRUE(weights.state().is_empty());
}

// 1 + 2^-10 is 1 in bf16, which has eight bits.
TEST(MasterWeights, AddUpChangesThat16BitsRoundAway) {
  for (const bool scaled : {false, true}) {
    const auto net = make_net();
    for (auto& parameter : net->parameters()) parameter.detach().fill_(1);
    const MasterWeights weights(*net, kO2);
    auto options = amp::scaler_options(kO2, weights);
    options.enabled = scaled;
    amp::GradScaler scaler(options);
    torch::optim::SGD sgd(weights.parameters(), SGDOptions(1.0 / 1024));
    for (int step = 0; step < 32; ++step) {
      set_gradients(*net, scaler.loss_scale());
      scaler.scale(torch::ones({}));
      scaler.step(sgd);
      scaler.update();
    }
    for (std::size_t i = 0; i < net->parameters().size(); ++i) {
      EXPECT_TRUE(weights.parameters()[i].eq(1 - 32.0 / 1024).all().item<bool>());
      EXPECT_TRUE(net->parameters()[i].eq(1 - 32.0 / 1024).all().item<bool>());
    }
  }
}

TEST(MasterWeights, ClippingSeesTheirGradients) {
  const auto net = make_net();
  const MasterWeights weights(*net, kO2);
  amp::GradScaler scaler(amp::scaler_options(kO2, weights));
  torch::optim::SGD sgd(weights.parameters(), SGDOptions(1));
  set_gradients(*net, 0.5);
  scaler.unscale(sgd);
  for (const auto& parameter : weights.parameters()) EXPECT_TRUE(parameter.grad().eq(0.5).all().item<bool>());
  torch::nn::utils::clip_grad_value_(weights.parameters(), 0.25);
  const auto before = weights.parameters()[0].detach().clone();
  scaler.step(sgd);
  EXPECT_TRUE(weights.parameters()[0].equal(before - 0.25)) << "the clipped gradient is not fetched again";
}

TEST(MasterWeights, ASkippedStepChangesNothing) {
  for (const bool on_device : {true, false}) {
    const auto net = make_net();
    const MasterWeights weights(*net, kO2);
    auto options = amp::scaler_options(kO2, weights);
    options.enabled = true;
    amp::GradScaler scaler(options);
    const std::unique_ptr<torch::optim::Optimizer> sgd =
        on_device ? std::unique_ptr<torch::optim::Optimizer>(new optim::Sgd(weights.parameters(), SGDOptions(1)))
                  : std::make_unique<torch::optim::SGD>(weights.parameters(), SGDOptions(1));
    const auto model_before = net->parameters()[0].detach().clone();
    const auto master_before = weights.parameters()[0].detach().clone();
    scaler.scale(torch::ones({}));
    set_gradients(*net, 1);
    net->parameters().back().mutable_grad().fill_(std::numeric_limits<float>::infinity());
    scaler.step(*sgd);
    scaler.update();
    EXPECT_TRUE(net->parameters()[0].equal(model_before));
    EXPECT_TRUE(weights.parameters()[0].equal(master_before));
    EXPECT_EQ(scaler.skipped_steps(), 1);
  }
}

TEST(MasterWeights, AParameterWithoutGradientHasNoneAndSparseOnesStaySparse) {
  struct TableImpl : torch::nn::Module {
    at::Tensor table = register_parameter("table", torch::zeros({4, 1}));
    at::Tensor other = register_parameter("other", torch::zeros({4}));
  };
  const auto net = std::make_shared<TableImpl>();
  amp::prepare(*net, kO2);
  const MasterWeights weights(*net, kO2);
  const auto &table = weights.parameters()[0], &other = weights.parameters()[1];
  torch::optim::SGD sgd({table, other}, SGDOptions(1));
  amp::GradScaler scaler(amp::scaler_options(kO2, weights));
  set_gradients(*net, 1);
  scaler.step(sgd);
  net->zero_grad();
  net->table.mutable_grad() =
      torch::sparse_coo_tensor(torch::tensor({{2, 2}}), torch::ones({2, 1}, at::kBFloat16), {4, 1});
  scaler.unscale(sgd);
  EXPECT_FALSE(other.grad().defined());
  EXPECT_TRUE(table.grad().is_sparse());
  scaler.step(sgd);
  EXPECT_TRUE(net->table.flatten().to(at::kFloat).equal(torch::tensor({-1.0F, -1.0F, -3.0F, -1.0F})));
}

TEST(MasterWeights, TheirStateComesBack) {
  const auto net = make_net(), other = make_net();
  const MasterWeights weights(*net, kO2), restored(*other, kO2);
  for (const auto& parameter : weights.state()) parameter.value().add_(1.0 / 4096);
  EXPECT_EQ(weights.state().keys(), (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias"}));
  restored.load_state(weights.state());
  for (std::size_t i = 0; i < weights.parameters().size(); ++i) {
    EXPECT_TRUE(restored.parameters()[i].equal(weights.parameters()[i]));
    EXPECT_TRUE(other->parameters()[i].equal(weights.parameters()[i].to(other->parameters()[i].scalar_type())));
  }
  auto wrong = weights.state();
  wrong["2.weight"] = torch::zeros({3});
  EXPECT_THAT([&] { restored.load_state(wrong); }, ThrowsWith<UsageError>("no '2.weight' that fits"));
  EXPECT_THAT([&] { restored.load_state(torch::OrderedDict<std::string, at::Tensor>()); },
              ThrowsWith<UsageError>("0 tensors"));
}

TEST(MasterWeights, OfOneTensorUnderSeveralNamesThereIsOne) {
  struct TiedImpl : torch::nn::Module {
    at::Tensor table = register_parameter("table", torch::ones({4, 2}));
    at::Tensor scores = register_parameter("scores", table);
    at::Tensor bias = register_parameter("bias", torch::ones({4}));
  };
  const auto net = std::make_shared<TiedImpl>();
  amp::prepare(*net, kO2);
  const MasterWeights weights(*net, kO2);
  ASSERT_EQ(weights.parameters().size(), net->parameters().size());
  EXPECT_TRUE(weights.parameters()[0].is_same(weights.parameters()[1]));
  EXPECT_EQ(weights.named_parameters().keys(), (std::vector<std::string>{"table", "bias"}));
  EXPECT_EQ(weights.state().keys(), weights.named_parameters().keys());

  torch::optim::SGD sgd(weights.named_parameters().values(), SGDOptions(1.0 / 1024));
  amp::GradScaler scaler(amp::scaler_options(kO2, weights));
  for (int step = 0; step < 32; ++step) {
    set_gradients(*net, 1);
    scaler.step(sgd);
  }
  for (const at::Tensor& parameter : weights.parameters()) {
    EXPECT_TRUE(parameter.eq(1 - 32.0 / 1024).all().item<bool>());
  }
  EXPECT_TRUE(net->scores.eq(1 - 32.0 / 1024).all().item<bool>());
  weights.load_state(weights.state());
  EXPECT_TRUE(net->scores.eq(1 - 32.0 / 1024).all().item<bool>()) << "no stale copy was written over it";
}

TEST(MasterWeights, DoNotGoWithAnOptimizerThatReduces) {
  struct Reducing {
    torch::optim::Optimizer& optimizer() { return inner; }
    void synchronize() {}
    void step() {}
    torch::optim::Optimizer& inner;
  };
  const auto net = make_net();
  const MasterWeights weights(*net, kO2);
  amp::GradScaler scaler(amp::scaler_options(kO2, weights));
  torch::optim::SGD sgd(weights.parameters(), SGDOptions(1));
  Reducing reducing{sgd};
  EXPECT_THAT([&] { scaler.step(reducing); }, ThrowsWith<UsageError>("use DistributedDataParallel"));
}

}  // namespace
}  // namespace lockstep::test

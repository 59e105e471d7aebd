// Mixed precision on a GPU: fp16 and bf16, no wait of the host, and a whole step in a CUDA graph.
#include <limits>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/amp/autocast.h>
#include <lockstep/amp/grad_scaler.h>
#include <lockstep/amp/prepare.h>
#include <lockstep/base/log.h>
#include <lockstep/gpu/step_graph.h>
#include <lockstep/gpu/work_stream.h>
#include <lockstep/nn/batch_norm.h>
#include <lockstep/optim/device_step.h>
#include <lockstep/optim/sgd.h>
#include <lockstep/parallel/distributed_data_parallel.h>

#include "no_waiting.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;

const at::Device kGpu(at::kCUDA, 0);
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct NetImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    return last(torch::relu(theirs(second(torch::relu(ours(first(x)))))).mean({2, 3}));
  }
  torch::nn::Conv2d first = register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 32, 3)));
  nn::BatchNorm ours = register_module("ours", nn::BatchNorm(torch::nn::BatchNormOptions(32)));
  torch::nn::Conv2d second = register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 32, 3)));
  torch::nn::BatchNorm2d theirs = register_module("theirs", torch::nn::BatchNorm2d(32));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(32, 4));
};
TORCH_MODULE(Net);

// A net in a precision on the GPU, and one step of it.
struct Training {
  explicit Training(const amp::Precision& chosen, bool channels_last = false)
      : precision(chosen),
        net(make_net(chosen, channels_last)),
        ddp(net, world(), {.check_gradients = !chosen.skips_steps()}),
        weights(*net, chosen),
        optimizer(weights.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9)),
        scaler(options()) {
    labels = torch::arange(32).cuda() % 4;
    images = torch::randn({32, 3, 12, 12}).cuda() + labels.view({-1, 1, 1, 1}) * torch::randn({1, 3, 1, 1}).cuda();
    factor = torch::ones({}).cuda();
    if (channels_last) images = images.contiguous(at::MemoryFormat::ChannelsLast);
  }

  static Net make_net(const amp::Precision& precision, bool channels_last) {
    torch::manual_seed(3);
    Net net;
    net->to(kGpu);
    amp::prepare(*net, precision);
    for (auto& parameter : net->parameters()) {
      if (channels_last && parameter.dim() == 4) {
        parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
      }
    }
    return net;
  }

  amp::GradScalerOptions options() const {
    auto result = amp::scaler_options(precision, weights);
    result.group = world();
    return result;
  }

  at::Tensor step() {
    net->zero_grad();
    at::Tensor loss;
    {
      const amp::Autocast autocast(at::kCUDA, precision);
      const auto scores = amp::cast_output(ddp.forward(amp::cast_input(images, precision)));
      loss = torch::nn::functional::cross_entropy(scores, labels) * factor;
    }
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    return loss.detach();
  }

  amp::Precision precision;
  Net net;
  DistributedDataParallel<Net> ddp;
  amp::MasterWeights weights;
  optim::Sgd optimizer;
  amp::GradScaler scaler;
  at::Tensor images, labels, factor;
};

double difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, (a[i] - b[i]).abs().max().item<double>() / b[i].abs().max().item<double>());
  }
  return largest;
}

TEST(AmpOnGpu, AutocastComputesInBothTypes) {
  for (const auto type : {at::kHalf, at::kBFloat16}) {
    const amp::Autocast autocast(at::kCUDA, type);
    const auto ones = torch::ones({8, 8}, at::kCUDA);
    EXPECT_EQ(torch::mm(ones, ones).scalar_type(), type);
    EXPECT_EQ(torch::mm(ones, ones).log_softmax(1).scalar_type(), at::kFloat);
  }
}

class LevelsOnGpu : public ::testing::TestWithParam<const char*> {};

TEST_P(LevelsOnGpu, TrainAsFp32Does) {
  for (const bool channels_last : {false, true}) {
    Training expected(amp::parse_precision("O0"), channels_last),
        found(amp::parse_precision(GetParam()), channels_last);
    std::vector<double> expected_losses, losses;
    for (int step = 0; step < 60; ++step) {
      expected_losses.push_back(expected.step().item<double>());
      losses.push_back(found.step().item<double>());
    }
    EXPECT_LT(losses.back(), 0.25 * losses.front());
    EXPECT_EQ(found.scaler.skipped_steps(), 0);
    // bf16 has eight bits of a mantissa, fp16 eleven, and steps carry the errors of those before them along.
    for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(losses[i], expected_losses[i], 0.05 * expected_losses[i]) << i;
    const auto low = found.precision.model.value_or(at::kFloat);
    EXPECT_EQ(found.net->second->weight.grad().scalar_type(), low);
  }
}

INSTANTIATE_TEST_SUITE_P(AmpOnGpu, LevelsOnGpu, ::testing::Values("O1", "O2", "O3", "bf16"));

TEST(AmpOnGpu, TheHostWaitsForNothing) {
  for (const char* level : {"O1", "O2", "O3"}) {
    ::testing::internal::CaptureStderr();
    log::configure({});
    Training training(amp::parse_precision(level));
    ASSERT_NE(dynamic_cast<optim::DeviceStep*>(&training.optimizer), nullptr);
    for (int step = 0; step < 3; ++step) training.step();
    const auto before = training.weights.parameters().front().detach().clone();
    {
      const NoWaiting no_waiting;
      training.factor.fill_(kInfinity);
      training.step();
      training.factor.fill_(1);
    }
    gpu::finish(kGpu);
    EXPECT_TRUE(training.weights.parameters().front().equal(before)) << level;
    training.scaler.report();  // what the copy of the last update() has brought
    {
      const NoWaiting no_waiting;
      training.step();
    }
    EXPECT_FALSE(training.weights.parameters().front().equal(before)) << level;
    EXPECT_EQ(training.scaler.steps(), 5);
    EXPECT_EQ(training.scaler.skipped_steps(), 1);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr(std::string(level) == "O3"
                              ? "step 4 skipped: gradients overflowed at loss scale 1; the scale stays 1"
                              : "step 4 skipped: gradients overflowed at loss scale 65536; the scale is now 32768"));
  }
}

TEST(AmpOnGpu, AnyOtherOptimizerIsSkippedByTheHost) {
  amp::GradScaler scaler({.initial_scale = 16});
  const auto weight = torch::ones({2}, at::kCUDA).requires_grad_();
  torch::optim::SGD sgd({weight}, torch::optim::SGDOptions(1));
  for (const float slope : {1.0F, kInfinity, 1.0F}) {
    sgd.zero_grad();
    scaler.scale((weight * slope).sum()).backward();
    scaler.step(sgd);
    scaler.update();
  }
  EXPECT_TRUE(weight.eq(-1).all().item<bool>());
  EXPECT_EQ(scaler.loss_scale(), 8);
}

TEST(AmpOnGpu, TakesGradientsOfSeveralDevices) {
  amp::GradScaler scaler({.initial_scale = 16});
  const auto here = torch::ones({2}).requires_grad_(), there = torch::ones({2}, at::kCUDA).requires_grad_();
  torch::optim::SGD sgd({here, there}, torch::optim::SGDOptions(1));
  for (const float slope : {1.0F, kInfinity}) {
    sgd.zero_grad();
    scaler.scale(there.sum() + (here * slope).sum().cuda()).backward();
    scaler.step(sgd);
    scaler.update();
  }
  EXPECT_TRUE(here.eq(0).all().item<bool>());
  EXPECT_TRUE(there.eq(0).all().item<bool>());
  EXPECT_EQ(scaler.loss_scale(), 8);
}

TEST(AmpOnGpu, AWholeStepRunsInsideACudaGraph) {
  constexpr int kSteps = 12, kOverflow = 8;
  for (const char* level : {"O1", "O2"}) {
    Training expected(amp::parse_precision(level));
    for (int step = 0; step < kSteps; ++step) {
      expected.factor.fill_(step == kOverflow ? kInfinity : 1.0F);
      expected.step();
    }
    ::testing::internal::CaptureStderr();
    log::configure({});
    const gpu::WorkStream stream(kGpu);
    const auto on_stream = stream.enter();
    Training training(amp::parse_precision(level));
    gpu::StepGraph graph([&] { training.step(); });
    for (int step = 0; step < kSteps; ++step) {
      training.factor.fill_(step == kOverflow ? kInfinity : 1.0F);
      const auto before = training.weights.parameters().front().detach().clone();
      graph.run();
      gpu::finish(kGpu);
      training.scaler.report();
      EXPECT_EQ(training.weights.parameters().front().equal(before), step == kOverflow) << level << ", step " << step;
    }
    EXPECT_TRUE(graph.recorded());
    EXPECT_EQ(training.scaler.steps(), kSteps);
    EXPECT_EQ(training.scaler.skipped_steps(), 1);
    EXPECT_EQ(training.scaler.loss_scale(), expected.scaler.loss_scale());
    EXPECT_EQ(training.scaler.growth_tracker(), expected.scaler.growth_tracker());
    // cuDNN may add up the gradients of weights in another order each time.
    EXPECT_LT(difference(training.weights.parameters(), expected.weights.parameters()), 2e-2) << level;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr("step 9 skipped: gradients overflowed at loss scale 65536; the scale is now 32768"))
        << level;
  }
}

}  // namespace
}  // namespace lockstep::test

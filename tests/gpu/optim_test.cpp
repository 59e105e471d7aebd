// Our optimizers on a GPU: as on the CPU, in CUDA graphs, and without the host waiting.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/optim/clip.h>
#include <lockstep/optim/device_step.h>
#include <lockstep/optim/exponential_moving_average.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/optim/named_state.h>

#include "no_waiting.h"
#include "parameters.h"

namespace lockstep::test {
namespace {

using Made = std::unique_ptr<torch::optim::Optimizer>;
const at::Device kGpu(at::kCUDA, 0);

struct Case {
  std::string name, optimizer;
  optim::OptimizerOptions options;
};

// In their layouts.
std::vector<torch::Tensor> on_gpu(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> result;
  for (const auto& tensor : tensors) {
    const auto memory = torch::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(kGpu));
    result.push_back(memory.detach().copy_(tensor.detach()).requires_grad_(tensor.requires_grad()));
  }
  return result;
}

std::vector<torch::Tensor> on_cpu(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> result;
  for (const auto& tensor : tensors) result.push_back(tensor.detach().cpu());
  return result;
}

// The same ones for both devices.
void set_gradients_of(const std::vector<torch::Tensor>& parameters, const std::vector<torch::Tensor>& model, int step) {
  set_gradients(model, step);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& gradient = model[i].grad();
    parameters[i].mutable_grad() = gradient.defined() ? gradient.to(kGpu) : torch::Tensor();
  }
}

class OptimizerOnGpu : public ::testing::TestWithParam<Case> {
 protected:
  static Made make(const std::vector<torch::Tensor>& parameters) {
    return make_optimizer(GetParam().optimizer, {{.name = "all", .parameter_names = {}, .parameters = parameters}},
                          GetParam().options);
  }
  static optim::DeviceStep& device_step(const Made& optimizer) { return dynamic_cast<optim::DeviceStep&>(*optimizer); }

  std::vector<torch::Tensor> host_ = make_parameters(/*with_complex=*/false), device_ = on_gpu(host_);
};

TEST_P(OptimizerOnGpu, StepsAsOnTheCpu) {
  const auto of_host = make(host_), of_device = make(device_);
  for (int i = 0; i < 10; ++i) {
    set_gradients_of(device_, host_, i);
    of_host->step();
    of_device->step();
    EXPECT_LT(largest_difference(on_cpu(device_), host_), 5e-6) << "step " << i;
  }
  EXPECT_GT(largest_difference(host_, make_parameters(false)), 1e-3);
}

TEST_P(OptimizerOnGpu, SkipsAndUnscalesWithoutTheHostWaiting) {
  const auto of_host = make(host_), of_device = make(device_);
  const auto scale = torch::full({1}, 4.0F, kGpu), found_inf = torch::zeros({1}, kGpu);
  device_step(of_device).set_gradient_scale(scale, found_inf);
  for (int i = 0; i < 6; ++i) {
    set_gradients_of(device_, host_, i);
    of_host->step();
    for (const auto& parameter : device_) {
      if (parameter.grad().defined()) parameter.grad().mul_(4);
    }
    // With dampening the first step of a parameter has to know; by then all have had theirs.
    if (i == 2) {
      const NoWaiting here;
      of_device->step();
    } else {
      of_device->step();
    }
    const auto before = copies_of(device_);
    for (const auto& parameter : device_) parameter.mutable_grad() = torch::full_like(parameter.detach(), NAN);
    found_inf.fill_(1);
    of_device->step();
    found_inf.zero_();
    ASSERT_TRUE(all_equal(copies_of(device_), before)) << "step " << i;
    ASSERT_LT(largest_difference(on_cpu(device_), host_), 5e-6) << "step " << i;
  }
}

TEST_P(OptimizerOnGpu, NeverWaitsAfterItsFirstSteps) {
  const auto optimizer = make(device_);
  device_step(optimizer).keep_rates_on_device();
  for (int i = 0; i < 6; ++i) {
    set_gradients_of(device_, host_, i == 1 ? 0 : i);
    if (i < 2) {
      optimizer->step();
      continue;
    }
    const NoWaiting here;
    optimizer->param_groups()[0].options().set_lr(0.1 / i);
    optimizer->step();
  }
}

TEST_P(OptimizerOnGpu, RunsInACudaGraphWithRatesThatChange) {
  constexpr int kWarmUps = 3, kReplays = 5;
  const auto rate = [](int step) { return 0.1 / (1 + step); };
  const auto expected = on_gpu(host_);
  set_gradients_of(expected, host_, 0);
  const auto of_expected = make(expected);
  for (int i = 0; i < kWarmUps + kReplays; ++i) {
    of_expected->param_groups()[0].options().set_lr(rate(i));
    of_expected->step();
  }

  set_gradients_of(device_, host_, 0);
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStreamGuard side(c10::cuda::getStreamFromPool());
  const auto optimizer = make(device_);
  auto& step = device_step(optimizer);
  const auto scale = torch::ones({1}, kGpu), found_inf = torch::zeros({1}, kGpu);
  step.set_gradient_scale(scale, found_inf);
  step.keep_rates_on_device();
  for (int i = 0; i < kWarmUps; ++i) {
    optimizer->param_groups()[0].options().set_lr(rate(i));
    optimizer->step();
  }
  c10::cuda::device_synchronize();
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  optimizer->step();  // is recorded, not run
  graph.capture_end();
  for (int i = kWarmUps; i < kWarmUps + kReplays; ++i) {
    optimizer->param_groups()[0].options().set_lr(rate(i));
    step.refresh_rates();
    graph.replay();
    found_inf.fill_(1);  // what a skipped step leaves behind must not be seen
    graph.replay();
    found_inf.zero_();
  }
  c10::cuda::device_synchronize();
  EXPECT_LT(largest_difference(on_cpu(device_), on_cpu(expected)), 5e-6);
  graph.reset();
}

TEST_P(OptimizerOnGpu, StateGoesToTheCpuAndBack) {
  const auto of_device = make(device_);
  for (int i = 0; i < 3; ++i) {
    set_gradients_of(device_, host_, i);
    of_device->step();
  }
  const auto of_host = make(host_);
  optim::load_named_state(*of_host, numbered(host_), optim::named_state(*of_device, numbered(device_)));
  for (std::size_t i = 0; i < host_.size(); ++i) host_[i].data().copy_(device_[i].data());
  set_gradients_of(device_, host_, 4);
  of_host->step();
  of_device->step();
  EXPECT_LT(largest_difference(on_cpu(device_), host_), 5e-6);
}

INSTANTIATE_TEST_SUITE_P(
    All, OptimizerOnGpu,
    ::testing::Values(Case{"sgd", "sgd", {.lr = 0.1}}, Case{"momentum", "sgd", {.lr = 0.1, .momentum = 0.9}},
                      Case{"dampening", "sgd", {.lr = 0.1, .momentum = 0.9, .dampening = 0.5}},
                      Case{"nesterov", "sgd", {.lr = 0.1, .weight_decay = 0.1, .momentum = 0.9, .nesterov = true}},
                      Case{"adam", "adam", {.lr = 0.05, .weight_decay = 0.1}},
                      Case{"adam_amsgrad", "adam", {.lr = 0.05, .amsgrad = true}}, Case{"adamw", "adamw", {.lr = 0.05}},
                      Case{"lars", "lars", {.lr = 0.5, .weight_decay = 0.1}},
                      Case{"lamb", "lamb", {.lr = 0.05, .weight_decay = 0.1}}),
    [](const auto& each) { return each.param.name; });

TEST(ClipOnGpu, IsThatOfTheCpuAndWaitsForNothing) {
  const auto host = make_parameters(false), device = on_gpu(host);
  set_gradients_of(device, host, 0);
  const auto expected = optim::clip_grad_norm(host, 1);
  torch::Tensor norm;
  {
    const NoWaiting here;
    norm = optim::clip_grad_norm(device, 1);
    optim::clip_grad_value(device, 0.01);
  }
  optim::clip_grad_value(host, 0.01);
  EXPECT_TRUE(norm.is_cuda());
  EXPECT_NEAR(norm.item<double>(), expected.item<double>(), 1e-4);
  for (std::size_t i = 0; i < host.size(); ++i) {
    EXPECT_LT((device[i].grad().cpu() - host[i].grad()).abs().max().item<double>(), 1e-6);
  }
}

TEST(ClipOnGpu, TakesGradientsOfTwoDevices) {
  const auto host = torch::zeros({2}, torch::requires_grad()), device = torch::zeros({2}, kGpu).requires_grad_(true);
  host.mutable_grad() = torch::tensor({3.0F, 0.0F});
  device.mutable_grad() = torch::tensor({4.0F, 0.0F}).to(kGpu);
  EXPECT_NEAR(optim::clip_grad_norm({host, device}, 1).item<double>(), 5, 1e-6);
  EXPECT_NEAR(host.grad()[0].item<double>(), 0.6, 1e-6);
  EXPECT_NEAR(device.grad()[0].item<double>(), 0.8, 1e-6);
}

TEST(ExponentialMovingAverageOnGpu, WaitsForNothing) {
  torch::nn::Sequential net(torch::nn::Conv2d(3, 4, 3), torch::nn::BatchNorm2d(4));
  net->to(kGpu);
  optim::ExponentialMovingAverage average(net.ptr(), {.decay = 0.5});
  {
    const torch::NoGradGuard no_gradients;
    for (auto& parameter : net->parameters()) parameter.zero_();
  }
  const auto before = average.state().at("0.weight").clone();
  {
    const NoWaiting here;
    average.update();
    const auto averaged = average.use();
  }
  EXPECT_TRUE(average.state().at("0.weight").equal(before / 2));
}

}  // namespace
}  // namespace lockstep::test

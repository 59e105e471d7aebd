// Losses and models on a GPU: as on the CPU, and without waiting for the device.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/nn/losses.h>
#include <lockstep/nn/registry.h>

#include "no_waiting.h"
#include "script_net.h"

namespace lockstep::test {
namespace {

TEST(GpuLosses, AreThoseOfTheCpuAndDoNotWait) {
  torch::manual_seed(3);
  const at::Tensor scores = torch::randn({256, 100}), labels = torch::randint(100, {256});
  const at::Tensor soft = torch::rand({256, 100}).softmax(1);
  const at::Tensor on_gpu = scores.cuda(), gpu_labels = labels.cuda(), gpu_soft = soft.cuda();
  at::Tensor hard_loss, soft_loss, squared, counts, soft_counts;
  {
    const NoWaiting no_waiting;
    hard_loss = nn::cross_entropy(on_gpu, gpu_labels, {.label_smoothing = 0.1});
    soft_loss = nn::cross_entropy(on_gpu, gpu_soft);
    squared = nn::mean_squared_error(on_gpu, gpu_soft);
    counts = nn::count_correct(on_gpu, gpu_labels);
    soft_counts = nn::count_correct(on_gpu, gpu_soft);
  }
  const auto expect_near = [](const at::Tensor& gpu, const at::Tensor& cpu) {
    EXPECT_TRUE(gpu.is_cuda());
    EXPECT_LT((gpu.cpu() - cpu).abs().max().item<double>(), 1e-6 * std::max(1.0, cpu.abs().max().item<double>()));
  };
  expect_near(hard_loss, nn::cross_entropy(scores, labels, {.label_smoothing = 0.1}));
  expect_near(soft_loss, nn::cross_entropy(scores, soft));
  expect_near(squared, nn::mean_squared_error(scores, soft));
  expect_near(counts, nn::count_correct(scores, labels));
  expect_near(soft_counts, nn::count_correct(scores, soft));
}

TEST(GpuLosses, ComputeInFloat32FromHalf) {
  const at::Tensor scores = torch::randn({8, 10}, at::kCUDA).to(at::kHalf);
  EXPECT_EQ(nn::cross_entropy(scores, torch::zeros({8}, at::TensorOptions(at::kLong).device(at::kCUDA))).scalar_type(),
            at::kFloat);
}

TEST(GpuModels, ATransformerComputesAsOnTheCpu) {
  torch::manual_seed(3);
  const auto model = nn::make_model("transformer");
  const at::Tensor input = torch::randn({4, 32, 128});
  const torch::NoGradGuard no_gradients;
  const at::Tensor expected = model->forward(input);
  model->to(at::kCUDA);
  EXPECT_LT((model->forward(input.cuda()).cpu() - expected).abs().max().item<double>(),
            2e-2);  // with TF32, if it is on
}

TEST(GpuModels, ATorchScriptFileMovesToTheDevice) {
  const TemporaryFolder folder;
  const auto model = nn::make_model(write_script_net(folder), {.input_shape = {4}});
  const at::Tensor input = torch::randn({2, 4}), expected = model->forward(input);
  const auto copy = std::dynamic_pointer_cast<nn::Model>(model->clone(at::Device(at::kCUDA, 0)));
  EXPECT_LT((copy->forward(input.cuda()).cpu() - expected).abs().max().item<double>(), 1e-3);
  EXPECT_TRUE(model->parameters().front().is_cpu());
}

}  // namespace
}  // namespace lockstep::test

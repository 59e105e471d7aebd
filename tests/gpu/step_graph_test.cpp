// Whole training steps as CUDA graphs.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/gpu/fitting_batch.h>
#include <lockstep/gpu/memory.h>
#include <lockstep/gpu/settings.h>
#include <lockstep/gpu/step_graph.h>
#include <lockstep/gpu/work_stream.h>
#include <lockstep/nn/registry.h>
#include <lockstep/optim/sgd.h>
#include <lockstep/parallel/distributed_data_parallel.h>

#include "world.h"

namespace lockstep::test {
namespace {

const at::Device kGpu(at::kCUDA, 0);
constexpr int kSteps = 12;

struct Batch {
  torch::Tensor input, labels;
};

Batch make_batch(int step) {
  torch::manual_seed(static_cast<std::uint64_t>(step));
  return {torch::randn({8, 3, 32, 32}).to(kGpu), torch::randint(10, {8}).to(kGpu)};
}

std::shared_ptr<nn::Model> make_net() {
  torch::manual_seed(1);
  const auto model = nn::make_model("resnet18", {.num_classes = 10, .stem = nn::Stem::kCifar3x3});
  model->to(kGpu);
  return model;
}

// The parameters after some steps, each with another batch and another rate.
template <typename MakeStep>
std::vector<torch::Tensor> train(MakeStep make_step) {
  const gpu::WorkStream stream(kGpu);
  const auto on_stream = stream.enter();
  const auto model = make_net();
  DistributedDataParallel ddp(model, world());
  optim::Sgd sgd(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  sgd.keep_rates_on_device();
  const Batch batch = make_batch(0);
  const auto step = [&] {
    sgd.zero_grad();
    torch::nn::functional::cross_entropy(ddp.forward(batch.input), batch.labels).backward();
    sgd.step();
  };
  const std::function<void()> run = make_step(step);
  for (int i = 0; i < kSteps; ++i) {
    const Batch next = make_batch(i);
    batch.input.copy_(next.input);
    batch.labels.copy_(next.labels);
    sgd.param_groups()[0].options().set_lr(0.01 / (1 + i));
    sgd.refresh_rates();
    run();
  }
  std::vector<torch::Tensor> parameters;
  for (const auto& parameter : model->parameters()) parameters.push_back(parameter.detach().cpu());
  return parameters;
}

TEST(StepGraph, TrainsAsTheStepItself) {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);  // else cuBLAS is not deterministic
  const gpu::SettingsGuard exact({.tf32_convolutions = false, .deterministic = true});
  const auto expected = train([](std::function<void()> step) { return step; });
  const auto found = train([](std::function<void()> step) {
    const auto graph = std::make_shared<gpu::StepGraph>(std::move(step));
    return [graph] { graph->run(); };
  });
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(found[i].equal(expected[i])) << "parameter " << i;
}

TEST(StepGraph, RecordsAfterItsWarmUps) {
  const gpu::WorkStream stream(kGpu);
  const auto on_stream = stream.enter();
  const auto counter = torch::zeros({1}, kGpu);
  int calls = 0;
  gpu::StepGraph graph([&] { counter.add_(1), ++calls; }, {.warm_ups = 2});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(graph.recorded(), i > 2);
    graph.run();
  }
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(counter.item<double>(), 10);
}

TEST(StepGraph, RefusesTheDefaultStream) {
  gpu::StepGraph graph([] {}, {.warm_ups = 0});
  EXPECT_THROW(graph.run(), UsageError);
}

TEST(StepGraph, PassesOnWhatAStepThrows) {
  const gpu::WorkStream stream(kGpu);
  const auto on_stream = stream.enter();
  gpu::StepGraph graph([] { throw RuntimeError("the reader is gone"); }, {.warm_ups = 0});
  EXPECT_THROW(graph.run(), RuntimeError);
  const auto after = torch::ones({3}, kGpu).sum().item<double>();  // the stream records no more
  EXPECT_EQ(after, 3);
}

TEST(StepGraph, RefusesAStepThatLooksAtValues) {
  const gpu::WorkStream stream(kGpu);
  const auto on_stream = stream.enter();
  const auto value = torch::ones({1}, kGpu);
  gpu::StepGraph graph([&] { value.item<double>(); }, {.warm_ups = 1});
  graph.run();
  EXPECT_THROW(graph.run(), RuntimeError);
}

TEST(FittingBatch, IsEstimatedFromSmallerOnes) {
  const std::int64_t sample = 64 << 20;
  const auto step_of = [&](std::int64_t batch) {
    torch::empty({batch, sample}, at::TensorOptions(kGpu).dtype(at::kByte));
  };
  const std::int64_t fits = gpu::memory(kGpu).total / sample, asked = 4 * fits;
  try {
    gpu::explain_lack_of_memory(
        kGpu, asked, [&] { step_of(asked); }, step_of);
    FAIL() << "four times the memory was there";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    const auto number = text.find("about ");
    ASSERT_NE(number, std::string::npos) << text;
    const auto estimate = std::stoll(text.substr(number + 6));
    EXPECT_LE(estimate, fits);
    EXPECT_GT(estimate, fits / 2);
    gpu::release_unused_memory();
    step_of(estimate);
  }
}

}  // namespace
}  // namespace lockstep::test

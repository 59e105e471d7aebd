// DistributedDataParallel on a GPU, over NCCL, also inside a CUDA graph.
#include <ATen/autocast_mode.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/optim/sgd.h>
#include <lockstep/parallel/distributed_data_parallel.h>

#include "world.h"

namespace lockstep::test {
namespace {

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return last(torch::relu(normalization(convolution(x))).mean({2, 3}));
  }
  torch::nn::Conv2d convolution = register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 64, 3)));
  torch::nn::BatchNorm2d normalization = register_module("normalization", torch::nn::BatchNorm2d(64));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(64, 10));
};
TORCH_MODULE(Net);

Net make_net() {
  torch::manual_seed(3);
  Net net;
  net->to(torch::Device(at::kCUDA, 0));
  for (auto& parameter : net->parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
  return net;
}

struct Batch {
  torch::Tensor inputs, labels;
};

Batch make_batch(int step) {
  torch::manual_seed(static_cast<std::uint64_t>(step));
  return {torch::randn({8, 3, 16, 16}).cuda().contiguous(at::MemoryFormat::ChannelsLast),
          torch::randint(10, {8}).cuda()};
}

optim::Sgd make_optimizer(Net& net) {
  return optim::Sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
}

void train_step(optim::Sgd& optimizer, const Batch& batch, const std::function<torch::Tensor(torch::Tensor)>& forward) {
  optimizer.zero_grad();
  torch::nn::functional::cross_entropy(forward(batch.inputs), batch.labels).backward();
  optimizer.step();
}

double difference(Net& a, Net& b) {
  double largest = 0;
  const auto of_a = a->parameters(), of_b = b->parameters();
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    largest = std::max(largest, (of_a[i] - of_b[i]).abs().max().item<double>());
  }
  return largest;
}

// What a rank alone gets when it does what one of several does; an average over one is the thing itself.
Net train_alone(int steps) {
  Net net = make_net();
  auto optimizer = make_optimizer(net);
  for (int step = 0; step < steps; ++step) {
    train_step(optimizer, make_batch(step), [&](const torch::Tensor& x) { return net->forward(x); });
  }
  return net;
}

TEST(DistributedDataParallelOnGpu, EqualsTrainingAlone) {
  Net expected = train_alone(10);
  for (const bool view : {true, false}) {
    for (const bool static_graph : {true, false}) {
      Net net = make_net();
      DistributedDataParallel ddp(net, world(), {.gradient_as_bucket_view = view, .static_graph = static_graph});
      auto optimizer = make_optimizer(net);
      for (int step = 0; step < 10; ++step) {
        train_step(optimizer, make_batch(step), [&](const torch::Tensor& x) { return ddp.forward(x); });
      }
      EXPECT_LT(difference(net, expected), 1e-5) << "bucket views " << view << ", static graph " << static_graph;
      EXPECT_TRUE(net->convolution->weight.grad().is_contiguous(at::MemoryFormat::ChannelsLast));
    }
  }
}

TEST(DistributedDataParallelOnGpu, TrainsUnderAutocastWithAScaledLoss) {
  Net net = make_net();
  DistributedDataParallel ddp(net, world(), {.check_gradients = false});
  const Batch batch = make_batch(0);
  at::autocast::set_autocast_enabled(at::kCUDA, true);
  at::autocast::set_autocast_dtype(at::kCUDA, at::kHalf);
  at::autocast::increment_nesting();
  const auto loss = torch::nn::functional::cross_entropy(ddp.forward(batch.inputs), batch.labels);
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCUDA, false);
  constexpr double kScale = 1024;
  (loss * kScale).backward();
  Net alone = make_net();
  torch::nn::functional::cross_entropy(alone->forward(batch.inputs), batch.labels).backward();
  const auto expected = alone->last->weight.grad();
  const double error = (net->last->weight.grad() / kScale - expected).abs().max().item<double>();
  EXPECT_LT(error, 2e-3 * expected.abs().max().item<double>() + 1e-3);
}

TEST(DistributedDataParallelOnGpu, CompressesOnItsWay) {
  const Batch batch = make_batch(0);
  const auto gradient = [&](const CommHook& hook) {
    Net net = make_net();
    DistributedDataParallel ddp(net, world(), {.hook = hook});
    torch::nn::functional::cross_entropy(ddp.forward(batch.inputs), batch.labels).backward();
    return net->last->weight.grad().clone();
  };
  const auto exact = gradient({});
  for (const CommHook& hook : {fp16_compression(), bf16_compression(), power_sgd({.rank = 8, .start_iteration = 0})}) {
    EXPECT_LT(((gradient(hook) - exact).norm() / exact.norm()).item<double>(), 0.2);
  }
}

TEST(DistributedDataParallelOnGpu, RunsInsideACudaGraph) {
  constexpr int kWarmUps = 11, kReplays = 9;
  Net expected = make_net();
  {
    auto optimizer = make_optimizer(expected);
    const Batch batch = make_batch(0);
    for (int step = 0; step < kWarmUps + kReplays; ++step) {
      train_step(optimizer, batch, [&](const torch::Tensor& x) { return expected->forward(x); });
    }
  }
  Net net = make_net();
  const Batch batch = make_batch(0);
  at::cuda::CUDAGraph graph;
  {
    const c10::cuda::CUDAStreamGuard side(c10::cuda::getStreamFromPool());
    DistributedDataParallel ddp(net, world());
    auto optimizer = make_optimizer(net);
    const auto step = [&] { train_step(optimizer, batch, [&](const torch::Tensor& x) { return ddp.forward(x); }); };
    for (int i = 0; i < kWarmUps; ++i) step();
    c10::cuda::device_synchronize();
    graph.capture_begin();
    step();  // is recorded, not run
    graph.capture_end();
    for (int i = 0; i < kReplays; ++i) graph.replay();
    c10::cuda::device_synchronize();
    EXPECT_LT(difference(net, expected), 1e-5);
    graph.reset();
  }
}

}  // namespace
}  // namespace lockstep::test

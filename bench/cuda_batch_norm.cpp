// What batch normalization, sums with shortcuts and ReLUs of a ResNet-50 take on a GPU, layer shape by layer shape,
// beside libtorch's operations and beside the time that the memory needs: for every tensor once, which is the least
// there can be, and with those that are needed after their sums read again, which is what two passes need. Each number
// is of a CUDA graph with as many tensors as do not fit into the second-level cache.
//
// usage: cuda_batch_norm_bench [BATCH] [bf16|fp16|fp32] [SIDE]
//   SIDE  of the pictures of the first layers: 32 for the CIFAR stems, 56 behind ImageNet's
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/batch_norm.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <lockstep/gpu/device.h>
#include <lockstep/kernels/batch_norm.h>

namespace {

using lockstep::kernels::BatchNormState;
using lockstep::kernels::NormAct;

constexpr double kBytesPerMicrosecond = 4.3e6;  // what an H200's memory was seen to give
constexpr double kCachesBytes = 400e6;          // several times the second-level cache

struct Shape {
  std::int64_t channels, side;
  bool adds, relu;
  auto operator<=>(const Shape&) const = default;
};

// How often each shape occurs.
std::map<Shape, int> resnet50(std::int64_t side) {
  std::map<Shape, int> layers;
  ++layers[{64, side == 56 ? 112 : side, false, true}];
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = std::int64_t{64} << stage, own = side >> stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      if (block == 0) ++layers[{4 * width, own, false, false}];
      ++layers[{width, block == 0 && stage > 0 ? 2 * own : own, false, true}];
      ++layers[{width, own, false, true}];
      ++layers[{4 * width, own, true, true}];
    }
  }
  return layers;
}

struct Layer {
  Layer(std::int64_t batch, const Shape& shape, at::ScalarType type) {
    const auto random = [&] {
      return torch::randn({batch, shape.channels, shape.side, shape.side}, at::kCUDA)
          .to(type)
          .contiguous(at::MemoryFormat::ChannelsLast);
    };
    const auto floats = at::TensorOptions(at::kFloat).device(at::kCUDA);
    input = random().requires_grad_();
    gradient = random();
    state = {.weight = torch::ones({shape.channels}, floats).requires_grad_(),
             .bias = torch::zeros({shape.channels}, floats).requires_grad_(),
             .running_mean = torch::zeros({shape.channels}, floats),
             .running_var = torch::ones({shape.channels}, floats),
             .momentum = 0.1,
             .eps = 1e-5};
    options.relu = shape.relu;
    wanted = {input, state.weight, state.bias};
    if (shape.adds) wanted.push_back(options.shortcut = random().requires_grad_());
  }

  at::Tensor input, gradient;
  BatchNormState state;
  NormAct options;
  std::vector<at::Tensor> wanted;
};

at::Tensor theirs(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  at::Tensor output = at::batch_norm(input, state.weight, state.bias, state.running_mean, state.running_var, true,
                                     state.momentum, state.eps, true);
  if (options.shortcut.defined()) output.add_(options.shortcut);
  return options.relu ? at::relu_(output) : output;
}

// Microseconds of one replay: the median of several.
double time_of(at::cuda::CUDAGraph& graph) {
  constexpr int kReplays = 15;
  std::vector<double> times;
  for (int i = 0; i < kReplays + 2; ++i) {
    at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
    begin.record();
    graph.replay();
    end.record();
    end.synchronize();
    if (i >= 2) times.push_back(begin.elapsed_time(end) * 1e3);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Times {
  double forward, backward;
};

// Of one layer.
template <typename Norm>
Times measure(const std::vector<Layer>& layers, const Norm& norm) {
  const auto backward = [](const Layer& layer, const at::Tensor& output) {
    return torch::autograd::grad({output}, layer.wanted, {layer.gradient}, /*retain_graph=*/true);
  };
  backward(layers[0], norm(layers[0].input, layers[0].state, layers[0].options));  // so that all is loaded
  at::cuda::CUDAGraph forwards, backwards;
  std::vector<at::Tensor> outputs;
  forwards.capture_begin();
  for (const Layer& layer : layers) outputs.push_back(norm(layer.input, layer.state, layer.options));
  forwards.capture_end();
  std::vector<std::vector<at::Tensor>> gradients;
  backwards.capture_begin();
  for (std::size_t i = 0; i < layers.size(); ++i) gradients.push_back(backward(layers[i], outputs[i]));
  backwards.capture_end();
  const auto count = static_cast<double>(layers.size());
  const double forward = time_of(forwards) / count;
  return {forward, time_of(backwards) / count};
}

// Of all large tensors once, and with two passes.
struct Floors {
  double once, twice;
};
struct Bytes {
  Floors forward, backward;
};
Bytes bytes_of(std::int64_t batch, const Shape& shape, at::ScalarType type) {
  const double values = static_cast<double>(batch * shape.channels * shape.side * shape.side);
  const double tensor = values * static_cast<double>(c10::elementSize(type)), bits = shape.adds ? values / 8 : 0;
  const double forward = 2 * tensor + (shape.adds ? tensor + bits : 0);
  const double backward = 3 * tensor + (shape.adds ? tensor + bits : 0);
  return {{forward, forward + tensor}, {backward, backward + 2 * tensor}};
}

at::ScalarType parse_type(const std::string& name) {
  return name == "fp32" ? at::kFloat : name == "fp16" ? at::kHalf : at::kBFloat16;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t batch = argc > 1 ? std::stoll(argv[1]) : 256;
  const at::ScalarType type = parse_type(argc > 2 ? argv[2] : "bf16");
  const std::int64_t side = argc > 3 ? std::stoll(argv[3]) : 32;
  lockstep::gpu::use_gpu(0);
  const c10::cuda::CUDAStreamGuard on(c10::cuda::getStreamFromPool());
  fmt::print("batch {}, microseconds of one layer: ours, libtorch's, the memory's once and for two passes\n", batch);
  fmt::print("{:<28} {:>6}   {:<36} {}\n", "layer", "times", "forward", "backward");
  double sums[8] = {};
  for (const auto& [shape, times] : resnet50(side)) {
    const Bytes bytes = bytes_of(batch, shape, type);
    const auto copies = static_cast<int>(std::clamp(kCachesBytes / bytes.forward.once, 2.0, 32.0));
    std::vector<Layer> layers;
    for (int i = 0; i < copies; ++i) layers.emplace_back(batch, shape, type);
    if (!lockstep::kernels::can_batch_norm_act(layers[0].input, layers[0].state, layers[0].options)) {
      fmt::print(stderr, "the kernels do not run here\n");
      return 1;
    }
    const Times ours = measure(layers, lockstep::kernels::batch_norm_act), others = measure(layers, theirs);
    const double row[8] = {ours.forward,
                           others.forward,
                           bytes.forward.once / kBytesPerMicrosecond,
                           bytes.forward.twice / kBytesPerMicrosecond,
                           ours.backward,
                           others.backward,
                           bytes.backward.once / kBytesPerMicrosecond,
                           bytes.backward.twice / kBytesPerMicrosecond};
    for (int i = 0; i < 8; ++i) sums[i] += times * row[i];
    const std::string name = fmt::format("{} x {} x {}{}{}", shape.channels, shape.side, shape.side,
                                         shape.adds ? " + shortcut" : "", shape.relu ? ", relu" : "");
    fmt::print("{:<28} {:>6} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}   {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}\n", name, times,
               row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]);
  }
  fmt::print("{:<28} {:>6} {:>8.0f} {:>8.0f} {:>8.0f} {:>8.0f}   {:>8.0f} {:>8.0f} {:>8.0f} {:>8.0f}\n", "all layers",
             "", sums[0], sums[1], sums[2], sums[3], sums[4], sums[5], sums[6], sums[7]);
}

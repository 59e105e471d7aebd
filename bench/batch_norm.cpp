// What batch normalization, sums with shortcuts and ReLUs of a ResNet-50 with CIFAR's stem take on the CPU, beside
// libtorch's operations: all layers forward, then all backward, as in a training step without its convolutions. Both
// take turns, so that what else the machine does meets both; the ratio is of their medians, with the least and the most
// of any turn. libtorch is best with MALLOC_MMAP_THRESHOLD_ and its kin set high, so that no memory goes back between
// turns.
//
// usage: batch_norm_bench [BATCH] [TURNS]
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <lockstep/kernels/batch_norm.h>

namespace {

using lockstep::kernels::BatchNormState;
using lockstep::kernels::NormAct;

struct Layer {
  Layer(std::int64_t batch, std::int64_t channels, std::int64_t side, bool adds, bool relu)
      : input(random(batch, channels, side).requires_grad_()) {
    state = {.weight = at::ones({channels}).requires_grad_(),
             .bias = at::zeros({channels}).requires_grad_(),
             .running_mean = at::zeros({channels}),
             .running_var = at::ones({channels}),
             .momentum = 0.1,
             .eps = 1e-5};
    options.relu = relu;
    if (adds) options.shortcut = random(batch, channels, side).requires_grad_();
  }

  static at::Tensor random(std::int64_t batch, std::int64_t channels, std::int64_t side) {
    return at::randn({batch, channels, side, side}).contiguous(at::MemoryFormat::ChannelsLast);
  }
  std::vector<at::Tensor> wanted() const {
    std::vector<at::Tensor> tensors = {input, state.weight, state.bias};
    if (options.shortcut.defined()) tensors.push_back(options.shortcut);
    return tensors;
  }

  at::Tensor input;
  BatchNormState state;
  NormAct options;
};

std::vector<Layer> resnet50(std::int64_t batch) {
  std::vector<Layer> layers;
  layers.emplace_back(batch, 64, 32, false, true);
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = std::int64_t{64} << stage, side = 32 >> stage;
    for (int block = 0; block < blocks[stage]; ++block) {
      const bool first = block == 0;
      if (first) layers.emplace_back(batch, 4 * width, side, false, false);
      layers.emplace_back(batch, width, first && stage > 0 ? 2 * side : side, false, true);
      layers.emplace_back(batch, width, side, false, true);
      layers.emplace_back(batch, 4 * width, side, true, true);
    }
  }
  return layers;
}

at::Tensor theirs(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  at::Tensor output = at::batch_norm(input, state.weight, state.bias, state.running_mean, state.running_var, true,
                                     state.momentum, state.eps, false);
  if (options.shortcut.defined()) output.add_(options.shortcut);
  return options.relu ? at::relu_(output) : output;
}

class Watch {
 public:
  template <typename Work>
  auto measure(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    auto result = work();
    milliseconds_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return result;
  }
  double milliseconds() const { return milliseconds_; }

 private:
  double milliseconds_ = 0;
};

struct Times {
  double forward, backward;
};

template <typename Norm>
Times pass(const std::vector<Layer>& layers, const Norm& norm) {
  Watch forward, backward;
  std::vector<at::Tensor> outputs;
  for (const Layer& layer : layers) {
    outputs.push_back(forward.measure([&] { return norm(layer.input, layer.state, layer.options); }));
  }
  for (std::size_t i = layers.size(); i-- > 0;) {
    std::vector<at::Tensor> gradients = {outputs[i].detach().clone()};  // nobody else has it, as in a model
    backward.measure([&] { return torch::autograd::grad({outputs[i]}, layers[i].wanted(), std::move(gradients)); });
    outputs[i].reset();
  }
  return {forward.milliseconds(), backward.milliseconds()};
}

void print(const char* what, std::vector<double> ours, std::vector<double> others) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(others[i] / ours[i]);
  const auto median = [](std::vector<double>& values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  const double one = median(ours), other = median(others);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  fmt::print("{:<10} {:>8.1f} ms {:>8.1f} ms {:>6.2f} ({:.2f} to {:.2f})\n", what, one, other, other / one, *least,
             *most);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t batch = argc > 1 ? std::stoll(argv[1]) : 32;
  const int turns = argc > 2 ? std::stoi(argv[2]) : 7;
  const std::vector<Layer> layers = resnet50(batch);
  std::vector<double> ours[2], others[2];
  for (int turn = -1; turn < turns; ++turn) {
    const Times one = pass(layers, lockstep::kernels::batch_norm_act), other = pass(layers, theirs);
    if (turn < 0) continue;  // memory is made
    ours[0].push_back(one.forward), ours[1].push_back(one.backward);
    others[0].push_back(other.forward), others[1].push_back(other.backward);
  }
  fmt::print("{} layers, batch {}, {} threads{:>12} {:>11}  ratio\n", layers.size(), batch, at::get_num_threads(),
             "ours", "libtorch");
  print("forward", ours[0], others[0]);
  print("backward", ours[1], others[1]);
  for (int turn = 0; turn < turns; ++turn) {
    const auto i = static_cast<std::size_t>(turn);
    ours[0][i] += ours[1][i];
    others[0][i] += others[1][i];
  }
  print("both", ours[0], others[0]);
}

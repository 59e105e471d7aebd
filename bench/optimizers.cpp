// What a step of our optimizers takes beside libtorch's, on the parameters of a model, on the CPU. Both take turns, so
// that what else the machine does meets both; the ratio is of their medians, with the least and the most of any turn.
//
// usage: optimizers_bench [MODEL] [TURNS]
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <ATen/ops/randn_like.h>
#include <fmt/format.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/registry.h>
#include <lockstep/optim/clip.h>
#include <lockstep/optim/exponential_moving_average.h>
#include <lockstep/optim/make_optimizer.h>

namespace {

namespace optim = lockstep::optim;
using Step = std::function<void()>;

double milliseconds(const Step& step) {
  const auto start = std::chrono::steady_clock::now();
  step();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const char* what, int turns, const Step& ours, const Step& theirs) {
  ours(), theirs();  // state is made
  std::vector<double> of_ours, of_theirs, ratios;
  for (int i = 0; i < turns; ++i) {
    of_ours.push_back(milliseconds(ours));
    of_theirs.push_back(milliseconds(theirs));
    ratios.push_back(of_theirs.back() / of_ours.back());
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  fmt::print("{:<24} {:>9.1f} ms {:>9.1f} ms {:>6.1f} ({:.1f} to {:.1f})\n", what, median(of_ours), median(of_theirs),
             median(of_theirs) / median(of_ours), *least, *most);
}

void measure(const char* what, int turns, const Step& step) {
  step();
  std::vector<double> times;
  for (int i = 0; i < turns; ++i) times.push_back(milliseconds(step));
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  fmt::print("{:<24} {:>9.1f} ms ({:.1f} to {:.1f})\n", what, median(times), *least, *most);
}

int body(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "resnet50";
  const int turns = argc > 2 ? std::stoi(argv[2]) : 15;
  const std::shared_ptr<lockstep::nn::Model> model = lockstep::nn::make_model(name);
  const std::vector<at::Tensor> parameters = model->parameters();
  std::int64_t values = 0;
  for (const at::Tensor& parameter : parameters) {
    parameter.mutable_grad() = at::randn_like(parameter.detach()).mul_(1e-3);
    values += parameter.numel();
  }
  fmt::print("{}: {} parameters, {:.1f} million values\n{:<24} {:>12} {:>12} {:>6}\n", name, parameters.size(),
             static_cast<double>(values) / 1e6, "", "ours", "libtorch", "ratio");
  const auto groups = optim::parameter_groups(*model, {.decay_norms_and_biases = true});
  const auto made = [&](const char* optimizer, const optim::OptimizerOptions& options) -> Step {
    return [step = std::shared_ptr(optim::make_optimizer(optimizer, groups, options))] { step->step(); };
  };
  torch::optim::SGD sgd(parameters, torch::optim::SGDOptions(1e-6).momentum(0.9).weight_decay(1e-4));
  torch::optim::Adam adam(parameters, torch::optim::AdamOptions(1e-6));
  torch::optim::AdamW adamw(parameters, torch::optim::AdamWOptions(1e-6));
  compare("sgd, momentum, decay", turns, made("sgd", {.lr = 1e-6, .weight_decay = 1e-4, .momentum = 0.9}),
          [&] { sgd.step(); });
  compare("adam", turns, made("adam", {.lr = 1e-6}), [&] { adam.step(); });
  compare("adamw", turns, made("adamw", {.lr = 1e-6}), [&] { adamw.step(); });
  measure("lars", turns, made("lars", {.lr = 1e-6, .weight_decay = 1e-4}));
  measure("lamb", turns, made("lamb", {.lr = 1e-6}));
  measure("clip_grad_norm", turns, [&] { optim::clip_grad_norm(parameters, 1e6); });
  optim::ExponentialMovingAverage average(model);
  measure("average of weights", turns, [&] { average.update(); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}

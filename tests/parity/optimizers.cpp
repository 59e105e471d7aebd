// The C++ side of optimizers.py: takes the steps of each case, and answers with the parameters after each of them.
//
// usage: parity_optimizers FOLDER
#include <cmath>
#include <filesystem>
#include <limits>

#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/optim/clip.h>
#include <lockstep/optim/exponential_moving_average.h>
#include <lockstep/optim/make_optimizer.h>

#include "tensors.h"

namespace {

namespace optim = lockstep::optim;
using Dictionary = c10::Dict<c10::IValue, c10::IValue>;
using Tensors = std::vector<at::Tensor>;

std::optional<double> number(const Dictionary& from, const char* key) {
  if (!from.contains(key)) return std::nullopt;
  return from.at(key).toTensor().item<double>();
}

std::optional<bool> flag(const Dictionary& from, const char* key) {
  const auto value = number(from, key);
  return value ? std::optional(*value != 0) : std::nullopt;
}

optim::OptimizerOptions options_of(const Dictionary& from) {
  optim::OptimizerOptions options{.lr = number(from, "lr"),
                                  .weight_decay = number(from, "weight_decay"),
                                  .momentum = number(from, "momentum"),
                                  .dampening = number(from, "dampening"),
                                  .nesterov = flag(from, "nesterov"),
                                  .eps = number(from, "eps"),
                                  .amsgrad = flag(from, "amsgrad"),
                                  .trust_coefficient = number(from, "trust_coefficient")};
  if (from.contains("beta1")) options.betas = {*number(from, "beta1"), *number(from, "beta2")};
  return options;
}

Tensors tensors(const c10::IValue& list) {
  Tensors result;
  for (const c10::IValue& each : list.toList().vec()) result.push_back(each.toTensor().clone());
  return result;
}

struct Holder : torch::nn::Module {
  explicit Holder(const Tensors& tensors) {
    for (const at::Tensor& tensor : tensors) register_parameter(std::to_string(parameters().size()), tensor);
  }
};

c10::List<at::Tensor> answer(const Dictionary& sent) {
  const auto holder = std::make_shared<Holder>(tensors(sent.at("parameters")));
  const Tensors parameters = holder->parameters();
  std::vector<optim::ParameterGroup> groups;
  for (const c10::IValue& each : sent.at("groups").toList().vec()) {
    const Dictionary own = each.toGenericDict();
    optim::ParameterGroup group{.name = "",
                                .parameter_names = {},
                                .parameters = {},
                                .lr = number(own, "lr"),
                                .weight_decay = number(own, "weight_decay")};
    for (const at::Tensor& index : tensors(own.at("parameters"))) {
      group.parameters.push_back(parameters[static_cast<std::size_t>(index.item<std::int64_t>())]);
    }
    groups.push_back(std::move(group));
  }
  const Dictionary given = sent.at("options").toGenericDict();
  const auto optimizer = optim::make_optimizer(sent.at("optimizer").toStringRef(), groups, options_of(given));
  const auto max_norm = number(given, "max_norm"), decay = number(given, "decay");
  const double norm_type = number(given, "norm_type").value_or(2);
  optim::ExponentialMovingAverage average(holder, {.decay = decay.value_or(0.5)});

  c10::List<at::Tensor> results;
  for (const c10::IValue& step : sent.at("gradients").toList().vec()) {
    const Tensors gradients = tensors(step);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      parameters[i].mutable_grad() = gradients[i].numel() == 0 ? at::Tensor() : gradients[i];
    }
    if (max_norm) results.push_back(optim::clip_grad_norm(parameters, *max_norm, {.norm_type = norm_type}));
    optimizer->step();
    average.update();
    for (const at::Tensor& parameter : parameters) results.push_back(parameter.detach().clone());
    if (!decay) continue;
    const auto averages = average.state();
    for (std::size_t i = 0; i < parameters.size(); ++i) results.push_back(averages.at(std::to_string(i)).clone());
  }
  return results;
}

int body(int, char** argv) {
  const std::filesystem::path folder = argv[1];
  std::vector<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) cases.push_back(entry.path());
  for (const auto& path : cases) {
    lockstep::test::write_tensors(folder / (path.stem().string() + ".answer.pt"),
                                  answer(lockstep::test::read_tensors(path)));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}

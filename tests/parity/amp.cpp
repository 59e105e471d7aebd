// The C++ side of amp.py. Reads cases.pt and answers in answers.pt: a net trained under autocast in bf16, and a
// GradScaler fed with gradients of which some are not finite.
//
// usage: parity_amp FOLDER
#include <filesystem>

#include <torch/torch.h>

#include <lockstep/amp/autocast.h>
#include <lockstep/amp/grad_scaler.h>
#include <lockstep/base/errors.h>

#include "tensors.h"

namespace {

using lockstep::test::read_tensors;
using Case = c10::Dict<c10::IValue, c10::IValue>;
using Answer = c10::Dict<std::string, at::Tensor>;

// As Net of amp.py.
struct NetImpl : torch::nn::Module {
  at::Tensor forward(at::Tensor x) {
    x = torch::relu(bn1(conv1(x)));
    x = torch::relu(bn2(conv2(x)));
    return fc(x.mean({2, 3}));
  }
  torch::nn::Conv2d conv1 = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 16, 3).padding(1)));
  torch::nn::BatchNorm2d bn1 = register_module("bn1", torch::nn::BatchNorm2d(16));
  torch::nn::Conv2d conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(16, 16, 3).stride(2)));
  torch::nn::BatchNorm2d bn2 = register_module("bn2", torch::nn::BatchNorm2d(16));
  torch::nn::Linear fc = register_module("fc", torch::nn::Linear(16, 10));
};
TORCH_MODULE(Net);

Answer train(const Case& sent) {
  Net net;
  Answer answer;
  {
    const torch::NoGradGuard no_gradients;
    const auto state = sent.at("state").toGenericDict();
    for (auto& parameter : net->named_parameters()) parameter->copy_(state.at(parameter.key()).toTensor());
  }
  torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  const at::Tensor inputs = sent.at("inputs").toTensor(), labels = sent.at("labels").toTensor();
  std::vector<at::Tensor> losses;
  for (std::int64_t step = 0; step < inputs.size(0); ++step) {
    sgd.zero_grad();
    at::Tensor loss;
    {
      const lockstep::amp::Autocast autocast(at::kCPU, at::kBFloat16);
      loss = torch::nn::functional::cross_entropy(net->forward(inputs[step]), labels[step]);
    }
    loss.backward();
    sgd.step();
    losses.push_back(loss.detach());
  }
  for (const auto& parameter : net->named_parameters()) answer.insert(parameter.key(), parameter->detach());
  for (const auto& buffer : net->named_buffers()) answer.insert(buffer.key(), buffer.value());
  answer.insert("losses", torch::stack(losses));
  return answer;
}

Answer scale(const Case& sent) {
  const auto number = [&](const char* key) { return sent.at(key).toTensor().item<double>(); };
  lockstep::amp::GradScaler scaler({.initial_scale = number("init_scale"),
                                    .growth_factor = number("growth_factor"),
                                    .backoff_factor = number("backoff_factor"),
                                    .growth_interval = static_cast<std::int64_t>(number("growth_interval"))});
  const at::Tensor slopes = sent.at("slopes").toTensor();  // steps x 2 parameters x elements
  const auto first = torch::ones({slopes.size(2)}).requires_grad_(), second = first.detach().clone().requires_grad_();
  torch::optim::SGD sgd({first}, torch::optim::SGDOptions(0.1).momentum(0.9));
  torch::optim::SGD nesterov({second}, torch::optim::SGDOptions(0.1).momentum(0.5).weight_decay(0.01).nesterov(true));
  std::vector<at::Tensor> scales, trackers, parameters;
  for (std::int64_t step = 0; step < slopes.size(0); ++step) {
    sgd.zero_grad();
    nesterov.zero_grad();
    scaler.scale((first * slopes[step][0]).sum() + (second * slopes[step][1]).sum()).backward();
    if (step % 3 == 0) {
      scaler.unscale(sgd);
      torch::nn::utils::clip_grad_norm_({first}, 1.0);
    }
    scaler.step(sgd);
    scaler.step(nesterov);
    if (step == slopes.size(0) / 2) {
      scaler.update(96);
    } else {
      scaler.update();
    }
    scales.push_back(torch::scalar_tensor(scaler.loss_scale(), at::kDouble));
    trackers.push_back(torch::scalar_tensor(scaler.growth_tracker(), at::kLong));
    parameters.push_back(torch::stack({first.detach(), second.detach()}));
  }
  Answer answer;
  answer.insert("scales", torch::stack(scales));
  answer.insert("trackers", torch::stack(trackers));
  answer.insert("parameters", torch::stack(parameters));
  return answer;
}

int body(int /*argc*/, char** argv) {
  const std::filesystem::path folder = argv[1];
  const auto sent = read_tensors(folder / "cases.pt");
  c10::impl::GenericDict answers(c10::StringType::get(), c10::AnyType::get());
  answers.insert("training", train(sent.at("training").toGenericDict()));
  answers.insert("scaling", scale(sent.at("scaling").toGenericDict()));
  lockstep::test::write_tensors(folder / "answers.pt", answers);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}

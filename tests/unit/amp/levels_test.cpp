// One training loop for every precision.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/amp/autocast.h>
#include <lockstep/amp/check_loss.h>
#include <lockstep/amp/grad_scaler.h>
#include <lockstep/amp/prepare.h>
#include <lockstep/nn/batch_norm.h>

namespace lockstep::test {
namespace {

struct NetImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return last(torch::relu(norm(convolution(x))).mean({2, 3})); }
  torch::nn::Conv2d convolution = register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 16, 3)));
  nn::BatchNorm norm = register_module("norm", nn::BatchNorm(torch::nn::BatchNormOptions(16)));
  torch::nn::Linear last = register_module("last", torch::nn::Linear(16, 4));
};
TORCH_MODULE(Net);

// Losses of 40 steps on one batch whose labels can be learned.
std::vector<double> train(const amp::Precision& precision) {
  torch::manual_seed(11);
  const auto labels = torch::arange(32) % 4;
  const auto images = torch::randn({32, 3, 8, 8}) + labels.view({-1, 1, 1, 1}) * torch::randn({1, 3, 1, 1});
  Net model;
  amp::prepare(*model, precision);
  const amp::MasterWeights weights(*model, precision);
  torch::optim::SGD optimizer(weights.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  amp::GradScaler scaler(amp::scaler_options(precision, weights));
  std::vector<double> losses;
  for (int step = 0; step < 40; ++step) {
    model->zero_grad();
    at::Tensor loss;
    {
      const amp::Autocast autocast(at::kCPU, precision);
      const auto scores = amp::cast_output(model->forward(amp::cast_input(images, precision)));
      loss = torch::nn::functional::cross_entropy(scores, labels);
    }
    scaler.scale(loss).backward();
    scaler.unscale(optimizer);
    torch::nn::utils::clip_grad_norm_(weights.parameters(), 1.0);
    scaler.step(optimizer);
    scaler.update();
    losses.push_back(loss.item<double>());
    amp::check_loss(losses.back(), {.step = step, .scale = scaler.loss_scale()});
  }
  return losses;
}

class Levels : public ::testing::TestWithParam<const char*> {};

// bf16 stands for fp16, which few CPUs have; with a scale, which it does not need, so that the scaler takes part.
TEST_P(Levels, TrainAsFp32Does) {
  const auto expected = train(amp::parse_precision("O0"));
  const std::string level = GetParam();
  const auto found =
      train(level == "bf16" ? amp::parse_precision(level)
                            : amp::parse_precision(level, {.dtype = at::kBFloat16, .loss_scale = "dynamic"}));
  EXPECT_LT(expected.back(), 0.25 * expected.front());
  EXPECT_LT(found.back(), 0.25 * found.front());
  EXPECT_NE(found, expected) << "nothing was computed in 16 bits";
  // Eight bits of a mantissa are 0.4% of a value, and steps carry the errors of those before them along.
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(found[i], expected[i], 0.05 * expected[i]) << "step " << i;
}

INSTANTIATE_TEST_SUITE_P(Amp, Levels, ::testing::Values("O1", "O2", "O3", "bf16"));

}  // namespace
}  // namespace lockstep::test

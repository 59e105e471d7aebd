// Whole models by both engines on a GPU.
#include <lockstep/amp/autocast.h>
#include <lockstep/gpu/settings.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/nn/layout.h>
#include <lockstep/nn/registry.h>

#include "gradient_error.h"
#include "norm_cases.h"

namespace lockstep::kernels {
namespace {

using test::gradient_error;

class CudaEngines : public OnGpu {};

struct Computed {
  Engine engine;
  at::ScalarType type;
  std::optional<at::ScalarType> autocast = std::nullopt;
};

// The gradients of all parameters, for one batch.
std::vector<at::Tensor> gradients(const std::string& name, const nn::ModelOptions& options, const Computed& by) {
  set_engine(by.engine);
  torch::manual_seed(2);
  const auto model = nn::make_model(name, options);
  std::vector<std::int64_t> shape = model->input_shape();
  shape.insert(shape.begin(), 8);
  const at::Tensor input = channels_last(torch::randn(shape).to(at::kCUDA, by.type));
  const at::Tensor classes = torch::randint(model->num_classes(), {8}, at::kLong).to(at::kCUDA);
  model->to(at::kCUDA, by.type);
  nn::to_channels_last(*model);
  for (const auto& module : model->modules()) {
    if (module->name().find("Dropout") != std::string::npos) module->eval();  // by chance, and by each in another way
  }
  const auto outputs = [&] {
    const amp::Autocast cast(at::kCUDA, by.autocast);
    return model->forward(input).to(by.type);
  }();
  at::cross_entropy_loss(outputs, classes).backward();
  set_engine(Engine::kFused);
  std::vector<at::Tensor> found;
  for (const auto& parameter : model->named_parameters()) {
    // That of a bias before a normalization is 0, or noise.
    if (name.ends_with("_bn") && parameter.value().dim() == 1 && parameter.key().starts_with("features")) continue;
    found.push_back(parameter.value().grad().to(at::kDouble));
  }
  return found;
}

// As on the CPU: what counts is that ours is not farther from the truth than libtorch's, by more than chance.
TEST_F(CudaEngines, AreBothNearToDoublePrecision) {
  const gpu::SettingsGuard plain({.tf32_matmul = false, .tf32_convolutions = false});
  const std::vector<std::pair<std::string, nn::ModelOptions>> models = {{"resnet18", {.stem = nn::Stem::kCifar}},
                                                                        {"resnet50", {.stem = nn::Stem::kCifar3x3}},
                                                                        {"resnet18", {}},
                                                                        {"airbench", {}}};
  for (const auto& [name, options] : models) {
    SCOPED_TRACE(name);
    const auto exact = gradients(name, options, {Engine::kReference, at::kDouble});
    const double theirs = gradient_error(gradients(name, options, {Engine::kReference, at::kFloat}), exact);
    const double ours = gradient_error(gradients(name, options, {Engine::kFused, at::kFloat}), exact);
    EXPECT_LT(ours, 10 * theirs + 1e-4);
    EXPECT_LT(ours, 0.05);
  }
}

// With all that is done otherwise in 16 bits: the first convolution, and the biases.
TEST_F(CudaEngines, AreBothNearToDoublePrecision_UnderAutocast) {
  const std::vector<std::pair<std::string, nn::ModelOptions>> models = {
      {"resnet18", {.stem = nn::Stem::kCifar}}, {"resnet18", {}}, {"vgg11_bn", {}}, {"alexnet", {}}};
  for (const auto& [name, options] : models) {
    SCOPED_TRACE(name);
    torch::manual_seed(3);
    const auto exact = gradients(name, options, {Engine::kReference, at::kDouble});
    const double theirs =
        gradient_error(gradients(name, options, {Engine::kReference, at::kFloat, at::kBFloat16}), exact);
    const double ours = gradient_error(gradients(name, options, {Engine::kFused, at::kFloat, at::kBFloat16}), exact);
    EXPECT_LT(ours, 1.5 * theirs);
  }
}

}  // namespace
}  // namespace lockstep::kernels

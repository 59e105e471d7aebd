// Whole models by both engines.
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <lockstep/kernels/engine.h>
#include <lockstep/nn/registry.h>

#include "gradient_error.h"

namespace lockstep::nn {
namespace {

using test::gradient_error;

// The gradients of all parameters, for one batch.
std::vector<at::Tensor> gradients(const std::string& name, const ModelOptions& options, kernels::Engine engine,
                                  at::ScalarType type) {
  const kernels::Engine before = kernels::engine();
  kernels::set_engine(engine);
  at::manual_seed(2);
  const auto model = make_model(name, options);
  std::vector<std::int64_t> shape = model->input_shape();
  shape.insert(shape.begin(), 8);
  const at::Tensor input = at::randn(shape).to(type), classes = at::randint(model->num_classes(), {8}, at::kLong);
  model->to(type);
  at::cross_entropy_loss(model->forward(input), classes).backward();
  kernels::set_engine(before);
  std::vector<at::Tensor> found;
  for (const at::Tensor& parameter : model->parameters()) found.push_back(parameter.grad().to(at::kDouble));
  return found;
}

// A rounding can turn a ReLU over and so change what comes before it, in float32 with either engine: what counts is
// that ours is not farther from the truth than libtorch's, by more than chance.
TEST(Engines, AreBothNearToDoublePrecision) {
  const std::vector<std::pair<std::string, ModelOptions>> models = {
      {"resnet18", {.stem = Stem::kCifar}}, {"mnist", {}}, {"lenet", {}}, {"lstm", {}}, {"conv3d", {}}};
  for (const auto& [name, options] : models) {
    SCOPED_TRACE(name);
    const auto exact = gradients(name, options, kernels::Engine::kReference, at::kDouble);
    const double theirs = gradient_error(gradients(name, options, kernels::Engine::kReference, at::kFloat), exact);
    const double ours = gradient_error(gradients(name, options, kernels::Engine::kFused, at::kFloat), exact);
    EXPECT_LT(ours, 10 * theirs + 1e-4);
    EXPECT_LT(ours, 0.05);
  }
}

}  // namespace
}  // namespace lockstep::nn

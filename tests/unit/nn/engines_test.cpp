// Whole models by both engines.
#include <ATen/ops/allclose.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <lockstep/amp/autocast.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/nn/conv_norm_act.h>
#include <lockstep/nn/registry.h>

#include "gradient_error.h"

namespace lockstep::nn {
namespace {

using test::gradient_error;

// The gradients of all parameters, for one batch; by autocast, if it has a type.
std::vector<at::Tensor> gradients(const std::string& name, const ModelOptions& options, kernels::Engine engine,
                                  at::ScalarType type, std::optional<at::ScalarType> autocast = {}) {
  const kernels::Engine before = kernels::engine();
  kernels::set_engine(engine);
  at::manual_seed(2);
  const auto model = make_model(name, options);
  std::vector<std::int64_t> shape = model->input_shape();
  shape.insert(shape.begin(), 8);
  at::Tensor input = at::randn(shape).to(type);
  const at::Tensor classes = at::randint(model->num_classes(), {8}, at::kLong);
  model->to(type);
  if (autocast && input.dim() == 4) input = input.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor output;
  {
    const amp::Autocast region(at::kCPU, autocast);
    output = model->forward(input);
  }
  at::cross_entropy_loss(output.to(type), classes).backward();
  kernels::set_engine(before);
  std::vector<at::Tensor> found;
  for (const at::Tensor& parameter : model->parameters()) found.push_back(parameter.grad().to(at::kDouble));
  return found;
}

// A rounding can turn a ReLU over and so change what comes before it, in float32 with either engine: what counts is
// that ours is not farther from the truth than libtorch's, by more than chance.
TEST(Engines, AreBothNearToDoublePrecision) {
  const std::vector<std::pair<std::string, ModelOptions>> models = {{"resnet18", {.stem = Stem::kCifar}},
                                                                    {"airbench", {}},
                                                                    {"mnist", {}},
                                                                    {"lenet", {}},
                                                                    {"lstm", {}},
                                                                    {"conv3d", {}}};
  for (const auto& [name, options] : models) {
    SCOPED_TRACE(name);
    const auto exact = gradients(name, options, kernels::Engine::kReference, at::kDouble);
    const double theirs = gradient_error(gradients(name, options, kernels::Engine::kReference, at::kFloat), exact);
    const double ours = gradient_error(gradients(name, options, kernels::Engine::kFused, at::kFloat), exact);
    EXPECT_LT(ours, 10 * theirs + 1e-4);
    EXPECT_LT(ours, 0.05);
  }
}

TEST(Engines, AreAsNearInBfloat16) {
  const std::vector<std::pair<std::string, ModelOptions>> models = {
      {"resnet18", {.stem = Stem::kCifar}}, {"mnist", {}}, {"lenet", {}}};
  for (const auto& [name, options] : models) {
    SCOPED_TRACE(name);
    const auto exact = gradients(name, options, kernels::Engine::kReference, at::kDouble);
    const auto in_bfloat16 = [&, &name = name, &options = options](kernels::Engine engine) {
      return gradient_error(gradients(name, options, engine, at::kFloat, at::kBFloat16), exact);
    };
    EXPECT_LT(in_bfloat16(kernels::Engine::kFused), 1.2 * in_bfloat16(kernels::Engine::kReference));
  }
}

TEST(Engines, ConvolveInTheTypeOfAutocast) {
  torch::nn::Module owner;
  ConvNormAct layer(owner, torch::nn::Conv2dOptions(16, 16, 3).padding(1), {.convolution = "conv"});
  for (const auto engine : {kernels::Engine::kFused, kernels::Engine::kReference}) {
    kernels::set_engine(engine);
    const amp::Autocast autocast(at::kCPU, at::kBFloat16);
    EXPECT_EQ(layer.forward(at::randn({2, 16, 24, 24})).scalar_type(), at::kBFloat16);
  }
  kernels::set_engine(kernels::Engine::kFused);
}

TEST(Engines, PutTheChannelsLastBehindPicturesOfOne) {
  torch::nn::Module owner;
  ConvNormAct layer(owner, torch::nn::Conv2dOptions(1, 8, 3), {.convolution = "conv"});
  const at::Tensor input = at::randn({3, 1, 9, 7});
  kernels::set_engine(kernels::Engine::kReference);
  const at::Tensor expected = layer.forward(input);
  kernels::set_engine(kernels::Engine::kFused);
  const at::Tensor found = layer.forward(input);
  EXPECT_TRUE(found.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(at::allclose(found, expected, 1e-5, 1e-6));
}

}  // namespace
}  // namespace lockstep::nn

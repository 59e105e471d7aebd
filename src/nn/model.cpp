#include <lockstep/nn/model.h>

#include <array>
#include <typeinfo>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/nn/batch_norm.h>

namespace lockstep::nn {
namespace {

// In the order of Stem.
const std::array<std::string, 3> kStemNames = {"imagenet", "cifar", "cifar3x3"};

void copy_tensors(const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from,
                  const std::optional<at::Device>& device) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    at::Tensor copy = device && from[i].device() != *device ? from[i].to(*device) : from[i].clone();
    to[i].set_data(std::move(copy));
    if (to[i].is_leaf()) to[i].requires_grad_(from[i].requires_grad());
  }
}

}  // namespace

Stem parse_stem(const std::string& name) {
  for (std::size_t i = 0; i < kStemNames.size(); ++i) {
    if (kStemNames[i] == name) return static_cast<Stem>(i);
  }
  throw UsageError({.message = fmt::format("there is no stem '{}'{}", name, did_you_mean(name, kStemNames)),
                    .expected = "imagenet, cifar or cifar3x3"});
}

Model::Model(std::vector<std::int64_t> input_shape, std::int64_t num_classes)
    : input_shape_(std::move(input_shape)), num_classes_(num_classes) {}

std::shared_ptr<torch::nn::Module> Model::clone(const std::optional<at::Device>& device) const {
  if (!make_again_) {
    throw UsageError({.message = fmt::format("{} cannot be cloned", name()),
                      .found = "a model that was made by its constructor",
                      .next = "register it by register_model, and make it by make_model"});
  }
  const std::shared_ptr<Model> copy = make_again_();
  copy->make_again_ = make_again_;
  copy->copy_state(*this, device);
  return copy;
}

// For a module that holds a model and is cloned itself.
void Model::clone_(torch::nn::Module& other, const std::optional<at::Device>& device) {
  copy_state(dynamic_cast<const Model&>(other), device);
}

void Model::copy_state(const Model& other, const std::optional<at::Device>& device) {
  const at::NoGradGuard no_gradients;
  const auto to = modules(/*include_self=*/false), from = other.modules(/*include_self=*/false);
  bool alike = to.size() == from.size();
  for (std::size_t i = 0; alike && i < to.size(); ++i) {
    const torch::nn::Module &one = *to[i], &another = *from[i];
    alike = typeid(one) == typeid(another);
  }
  if (!alike) {
    throw UsageError({.message = fmt::format("{} cannot be cloned", other.name()),
                      .found = "submodules that were added or replaced after it was made",
                      .expected = "those that its factory makes"});
  }
  copy_tensors(parameters(), other.parameters(), device);
  copy_tensors(buffers(), other.buffers(), device);
  train(other.is_training());
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i]->is_training() != from[i]->is_training()) to[i]->train(from[i]->is_training());
    if (auto* norm = to[i]->as<BatchNormImpl>()) norm->set_normalizer(from[i]->as<BatchNormImpl>()->normalizer());
  }
}

}  // namespace lockstep::nn

#include "replica.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/variable.h>

#include <lockstep/base/errors.h>

namespace lockstep::parallel {
namespace {

std::shared_ptr<torch::nn::Module> clone(const torch::nn::Module& module, at::Device device) {
  try {
    return module.clone(device);
  } catch (const c10::Error& error) {
    throw UsageError({.message = fmt::format("DataParallel cannot make a replica of {}", module.name()),
                      .found = error.what_without_backtrace(),
                      .next = "derive the module and those in it from torch::nn::Cloneable, and register all that it "
                              "has in reset()"});
  }
}

// Whether values can be copied from one to the other as they are.
bool fits(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

}  // namespace

Replica::Replica(const torch::nn::Module& original, at::Device device)
    : device_(device),
      originals_(original.modules()),
      module_(clone(original, device)),
      original_buffers_(original.buffers()) {
  modules_ = module_->modules();
  buffers_ = module_->buffers();
  parameters_ = module_->parameters();
  for (const auto& parameter : original.parameters()) {
    twins_.push_back({parameter, parameters_[twins_.size()], parameter.device() == device_});
  }
}

bool Replica::update(bool everything) {
  const at::NoGradGuard no_gradients;
  bool replaced = false;
  for (auto& twin : twins_) {
    if (everything || changed(twin)) replaced |= update(twin);
  }
  // Always: the kernels that change running statistics do not count a version.
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!fits(buffers_[i], original_buffers_[i])) buffers_[i].set_data(original_buffers_[i].to(device_));
  }
  if (!buffers_.empty()) at::_foreach_copy_(buffers_, original_buffers_, /*non_blocking=*/true);
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    const bool training = originals_[i]->is_training();
    if (modules_[i]->is_training() != training) modules_[i]->train(training);
  }
  return replaced;
}

bool Replica::changed(const Twin& twin) const {
  return twin.memory != twin.original.const_data_ptr() || (!twin.shared && twin.version != twin.original._version());
}

// Returns whether the copy has become another tensor.
bool Replica::update(Twin& twin) const {
  const at::Tensor original = twin.original.detach();
  const bool replaces = twin.shared ? twin.memory != original.const_data_ptr() : !fits(twin.copy, original);
  if (replaces) {
    twin.copy.detach_();
    twin.copy.set_data(twin.shared ? original : original.to(device_));
    // So that a backward pass sees it if a parameter was changed since forward.
    if (twin.shared) {
      torch::autograd::impl::set_version_counter(twin.copy, torch::autograd::impl::version_counter(twin.original));
    }
  } else if (!twin.shared) {
    twin.copy.copy_(original, /*non_blocking=*/true);
  }
  twin.memory = original.const_data_ptr();
  twin.version = twin.original._version();
  return replaces;
}

}  // namespace lockstep::parallel

#include <lockstep/optim/sgd.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/empty_like.h>

namespace lockstep::optim {
namespace {

using torch::optim::SGDOptions;
using torch::optim::SGDParamState;

// Parameters that one call of the kernel updates.
struct Batch {
  std::vector<at::Tensor> parameters, gradients, buffers;
  std::vector<at::Tensor> shared;  // the parameters as their owner knows them
};

// Dimensions of size 1 have strides that mean nothing.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  for (std::int64_t i = 0; i < a.dim(); ++i) {
    if (a.size(i) != 1 && a.stride(i) != b.stride(i)) return false;
  }
  return true;
}

// `tensor` as the kernel needs it: it walks through memory, so elements must lie where the parameter's do.
at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& tensor) {
  const at::Tensor dense = tensor.is_sparse() ? tensor.to_dense() : tensor;
  if (dense.scalar_type() == parameter.scalar_type() && same_layout(dense, parameter)) return dense;
  return at::empty_like(parameter).copy_(dense);
}

bool can_be_fused(const at::Tensor& parameter) {
  return (parameter.is_cpu() || parameter.is_cuda()) && parameter.is_floating_point() &&
         parameter.is_non_overlapping_and_dense();
}

void step_alone(const at::Tensor& parameter, const at::Tensor& gradient, at::Tensor& buffer,
                const SGDOptions& options) {
  at::Tensor update = gradient.is_sparse() ? gradient.to_dense() : gradient;
  if (options.weight_decay() != 0) update = update.add(parameter, options.weight_decay());
  if (options.momentum() != 0) {
    if (buffer.defined()) {
      buffer.mul_(options.momentum()).add_(update, 1 - options.dampening());
    } else {
      buffer = update.clone();
    }
    update = options.nesterov() ? update.add(buffer, options.momentum()) : buffer;
  }
  parameter.add_(update, -options.lr());
}

}  // namespace

at::Tensor Sgd::momentum_buffer(const at::Tensor& parameter) const {
  const auto found = state_.find(parameter.unsafeGetTensorImpl());
  if (found == state_.end()) return {};
  return static_cast<const SGDParamState&>(*found->second).momentum_buffer();
}

void Sgd::keep_momentum_buffer(const at::Tensor& parameter, at::Tensor buffer) {
  auto& state = state_[parameter.unsafeGetTensorImpl()];
  if (!state) state = std::make_unique<SGDParamState>();
  static_cast<SGDParamState&>(*state).momentum_buffer(std::move(buffer));
}

at::Tensor Sgd::step(LossClosure closure) {
  at::Tensor loss;
  if (closure) {
    const at::AutoGradMode enabled(true);
    loss = closure();
  }
  const at::NoGradGuard no_gradients;
  for (auto& group : param_groups_) {
    const auto& options = static_cast<const SGDOptions&>(group.options());
    const bool has_momentum = options.momentum() != 0;
    // By device, type, and whether it is the parameter's first step, which the kernel takes for all alike.
    std::map<std::tuple<std::string, at::ScalarType, bool>, Batch> batches;
    for (const at::Tensor& shared : group.params()) {
      if (!shared.grad().defined()) continue;
      const at::Tensor parameter = shared.detach(), gradient = shared.grad().detach();
      at::Tensor buffer = has_momentum ? momentum_buffer(shared) : at::Tensor();
      if (can_be_fused(parameter)) {
        auto& batch = batches[{parameter.device().str(), parameter.scalar_type(), !buffer.defined()}];
        batch.parameters.push_back(parameter);
        batch.shared.push_back(shared);
        batch.gradients.push_back(laid_out_like(parameter, gradient));
        if (has_momentum) {
          batch.buffers.push_back(buffer.defined() ? laid_out_like(parameter, buffer) : at::empty_like(parameter));
        }
      } else {
        step_alone(parameter, gradient, buffer, options);
        if (has_momentum) keep_momentum_buffer(shared, std::move(buffer));
      }
    }
    for (const auto& [kind, batch] : batches) {
      at::_fused_sgd_(batch.parameters, batch.gradients, batch.buffers, options.weight_decay(), options.momentum(),
                      options.lr(), options.dampening(), options.nesterov(), /*maximize=*/false, std::get<bool>(kind));
      for (std::size_t i = 0; i < batch.shared.size(); ++i) {
        // The kernel does not count that it has changed them; autograd and DataParallel must know.
        batch.parameters[i].unsafeGetTensorImpl()->bump_version();
        if (has_momentum) keep_momentum_buffer(batch.shared[i], batch.buffers[i]);
      }
    }
  }
  return loss;
}

}  // namespace lockstep::optim

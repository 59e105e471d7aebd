#include <lockstep/kernels/batch_norm.h>

#include <ATen/TracerMode.h>
#include <ATen/core/grad_mode.h>

#include "batch_norm_devices.h"

namespace lockstep::kernels {

bool wants_gradients(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  if (!at::GradMode::is_enabled()) return false;
  const auto wants = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  return wants(input) || wants(state.weight) || wants(state.bias) || wants(options.shortcut) ||
         wants(options.input_bias);
}

namespace {

ForTwo batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options, bool for_two) {
  if (input.is_cuda()) return cuda_batch_norm_act(input, state, options, for_two);
  if (options.by_batch && state.batches.defined()) state.batches.add_(1);
  return cpu_batch_norm_act(input, state, options, for_two);
}

}  // namespace

bool can_batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  if (at::tracer::impl::is_dispatch_enabled()) return false;
  if (options.input_bias.defined() && !(options.by_batch && input.is_cuda())) return false;
  if (!options.by_batch && wants_gradients(input, state, options)) return false;
  return input.is_cuda() ? can_cuda_batch_norm_act(input, state, options)
                         : can_cpu_batch_norm_act(input, state, options);
}

at::Tensor batch_norm_act(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  return batch_norm_act(input, state, options, /*for_two=*/false).first;
}

ForTwo batch_norm_act_for_two(const at::Tensor& input, const BatchNormState& state, const NormAct& options) {
  return batch_norm_act(input, state, options, /*for_two=*/true);
}

}  // namespace lockstep::kernels

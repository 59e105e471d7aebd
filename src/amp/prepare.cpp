#include <lockstep/amp/prepare.h>

#include <atomic>
#include <set>

#include <ATen/core/grad_mode.h>
#include <torch/nn/modules/batchnorm.h>

#include <lockstep/base/log.h>
#include <lockstep/nn/batch_norm.h>

namespace lockstep::amp {
namespace {

bool is_batch_norm(const torch::nn::Module& module) {
  const auto buffers = module.named_buffers(/*recurse=*/false);
  return (buffers.contains("running_mean") && buffers.contains("running_var")) || module.as<nn::BatchNormImpl>() ||
         module.as<torch::nn::BatchNorm1dImpl>() || module.as<torch::nn::BatchNorm2dImpl>() ||
         module.as<torch::nn::BatchNorm3dImpl>();
}

}  // namespace

void prepare(torch::nn::Module& module, const Precision& precision) {
  if (const auto type = precision.low_type()) {
    for (const at::Tensor& parameter : module.parameters()) require_type(parameter.device().type(), *type);
  }
  if (!precision.model) return;

  std::set<const at::TensorImpl*> kept;  // a normalization's own, also where another module registers it too
  if (precision.keep_batchnorm_fp32) {
    module.apply([&](torch::nn::Module& part) {
      if (!is_batch_norm(part)) return;
      for (const auto& tensors : {part.parameters(/*recurse=*/false), part.buffers(/*recurse=*/false)}) {
        for (const at::Tensor& tensor : tensors) kept.insert(tensor.unsafeGetTensorImpl());
      }
    });
  }
  const at::NoGradGuard no_gradients;
  for (const auto& tensors : {module.parameters(), module.buffers()}) {
    for (at::Tensor tensor : tensors) {
      if (!tensor.is_floating_point() || kept.contains(tensor.unsafeGetTensorImpl())) continue;
      tensor.set_data(tensor.to(*precision.model));
    }
  }
}

at::Tensor cast_input(const at::Tensor& input, const Precision& precision) {
  return precision.model && input.is_floating_point() ? input.to(*precision.model) : input;
}

at::Tensor cast_output(const at::Tensor& output) {
  const bool low = output.scalar_type() == at::kHalf || output.scalar_type() == at::kBFloat16;
  return low ? output.to(at::kFloat) : output;
}

void hint_batch_size(std::int64_t batch_size, const Precision& precision) {
  static std::atomic<bool> told = false;
  if (!precision.low_type() || batch_size % 8 == 0 || told.exchange(true)) return;
  log::info("hint: a batch of {} is no multiple of 8; in 16 bits, {} would use matrix units wholly", batch_size,
            (batch_size / 8 + 1) * 8);
}

}  // namespace lockstep::amp

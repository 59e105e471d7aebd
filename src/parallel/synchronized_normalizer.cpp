#include "synchronized_normalizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/custom_function.h>

#include <lockstep/base/errors.h>

#include "norm_arithmetic.h"

namespace lockstep::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct GroupCapsule : torch::CustomClassHolder {
  explicit GroupCapsule(const Group& kept) : group(kept) {}
  Group group;
};

// A rank without samples takes part in both exchanges and adds nothing.
class Normalization : public torch::autograd::Function<Normalization> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const std::optional<at::Tensor>& weight,
                            const std::optional<at::Tensor>&, const nn::BatchNormState& state, const Group& group) {
    const NormArithmetic& arithmetic = NormArithmetic::of(input.device().type());
    const at::Tensor own = arithmetic.local_statistics(input, state.eps);
    const at::Tensor gathered = at::empty({group.size(), own.numel()}, own.options());
    group.all_gather_into(gathered, own);
    const BatchStatistics statistics = arithmetic.combine(gathered, input, state);
    context->save_for_backward(
        {input, weight.value_or(at::Tensor()), statistics.mean, statistics.spread, statistics.counts});
    context->saved_data["eps"] = state.eps;
    context->saved_data["group"] = c10::IValue::make_capsule(c10::make_intrusive<GroupCapsule>(group));
    return input.numel() > 0 ? arithmetic.normalize(input, state, statistics) : at::empty_like(input);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (at::GradMode::is_enabled()) {
      throw UsageError({.message = "SyncBatchNorm has no second derivative",
                        .found = "a backward pass with create_graph",
                        .next = "use nn::BatchNorm where second derivatives are needed"});
    }
    const variable_list saved = context->get_saved_variables();
    const NormalizedBatch batch{.input = saved[0],
                                .weight = saved[1],
                                .statistics = {.mean = saved[2], .spread = saved[3], .counts = saved[4]},
                                .eps = context->saved_data["eps"].toDouble()};
    const auto capsule = context->saved_data["group"].toCapsule();
    const Group& group = static_cast<const GroupCapsule&>(*capsule).group;
    const NormArithmetic& arithmetic = NormArithmetic::of(batch.input.device().type());

    const bool has_samples = batch.input.numel() > 0;
    const GradientSums sums = has_samples ? arithmetic.gradient_sums(gradients[0], batch) : no_sums(batch);
    at::Tensor for_input;
    if (context->needs_input_grad(0)) {
      group.all_reduce(sums.for_input);
      for_input =
          has_samples ? arithmetic.input_gradient(gradients[0], batch, sums.for_input) : at::zeros_like(batch.input);
    }
    if (!batch.weight.defined()) return {for_input, {}, {}, {}, {}};
    const auto type = batch.weight.scalar_type();
    return {for_input, sums.weight.to(type), sums.bias.to(type), {}, {}};
  }

 private:
  static GradientSums no_sums(const NormalizedBatch& batch) {
    const at::Tensor zeros = at::zeros_like(batch.statistics.mean);
    return {.for_input = at::zeros({2 * zeros.numel()}, zeros.options()), .weight = zeros, .bias = zeros};
  }
};

std::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

}  // namespace

const NormArithmetic& NormArithmetic::of(at::DeviceType device) {
  if (device == at::kCPU) return cpu_norm_arithmetic();
  if (device == at::kCUDA) return cuda_norm_arithmetic();
  throw UsageError({.message = "SyncBatchNorm cannot work on this device",
                    .found = c10::DeviceTypeName(device, /*lower_case=*/true),
                    .expected = "cpu or cuda"});
}

nn::BatchNormalizer synchronized_normalizer(const Group& group) {
  return [group](const at::Tensor& input, const nn::BatchNormState& state) {
    if (group.size() == 1) return nn::normalize_batch(input, state);
    return Normalization::apply(input, if_defined(state.weight), if_defined(state.bias), state, group);
  };
}

}  // namespace lockstep::parallel

#include "dropout.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TracerMode.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "../parallel.h"
#include "../recorded.h"
#include "channels_last.h"
#include "dropout_kernels.h"
#include "single_derivative.h"
#include "values.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// SplitMix64's number of that place in the stream of a seed.
std::uint64_t key_of(std::uint64_t seed, std::int64_t block) {
  std::uint64_t value = seed + (static_cast<std::uint64_t>(block) + 1) * 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::uint64_t draw_seed() {
  auto* generator =
      at::get_generator_or_default<at::CPUGeneratorImpl>(std::nullopt, at::detail::getDefaultCPUGenerator());
  const std::lock_guard lock(generator->mutex_);
  return generator->random64();
}

// The values of x that `seed` keeps, scaled. In blocks of a fixed size, so it does not depend on the threads.
template <typename Value>
void drop_values(const DropoutKernels<Value>& kernels, Value* y, const Value* x, std::int64_t count, std::uint64_t seed,
                 double probability) {
  constexpr std::int64_t kBlock = 1 << 14;
  const auto threshold = static_cast<std::uint32_t>(std::min(std::round(probability * 0x1p32), 0x1p32 - 1));
  const auto scale = static_cast<float>(1 / (1 - probability));
  parallel_for(0, (count + kBlock - 1) / kBlock, 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kBlock;
      kernels.drop(y + first, x + first, std::min(kBlock, count - first), key_of(seed, block), threshold, scale);
    }
  });
}

at::Tensor dropped(const char* name, const at::Tensor& input, std::uint64_t seed, double probability) {
  at::Tensor output = at::empty_like(input);
  const Recorded recorded(name, {.bytes = bytes_of({input, output})});
  with_values_of(input, [&]<typename Value>(Value) {
    drop_values(kernels_for<Value>(*dropout_level()), mutable_values_of<Value>(output), values_of<Value>(input),
                input.numel(), seed, probability);
  });
  return output;
}

class FusedDropout : public torch::autograd::Function<FusedDropout> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, double probability) {
    const std::uint64_t seed = draw_seed();
    context->saved_data["seed"] = static_cast<std::int64_t>(seed);
    context->saved_data["probability"] = probability;
    return dropped("lockstep::dropout", input, seed, probability);
  }

  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("dropout");
    const auto seed = static_cast<std::uint64_t>(context->saved_data["seed"].toInt());
    const double probability = context->saved_data["probability"].toDouble();
    return {dropped("lockstep::dropout_backward", gradients[0].contiguous(), seed, probability), {}};
  }
};

}  // namespace

bool can_fused_dropout(const at::Tensor& input, double probability) {
  return dropout_level() != nullptr && !at::tracer::impl::is_dispatch_enabled() && is_cpu_floating(input) &&
         input.is_contiguous() && input.numel() > 0 && probability > 0 && probability < 1;
}

at::Tensor fused_dropout(const at::Tensor& input, double probability) {
  return FusedDropout::apply(input, probability);
}

}  // namespace lockstep::kernels

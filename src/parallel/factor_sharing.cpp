#include "factor_sharing.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/variable.h>

#include <lockstep/base/cpu.h>

#include "finite.h"
#include "traced_collective.h"

namespace lockstep::parallel {
namespace {

bool has_hooks(const at::Tensor& weight) {
  const auto* meta = torch::autograd::impl::get_autograd_meta(weight);
  return meta != nullptr && (!meta->hooks_.empty() || meta->cpp_hooks_list_ != nullptr);
}

}  // namespace

FactorSharing::FactorSharing(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check)
    : group_(std::move(group)), flow_(flow), check_(check) {
  for (const at::Tensor& parameter : parameters) {
    numbers_[parameter.unsafeGetTensorImpl()] = weights_.size();
    weights_.push_back({.parameter = parameter});
  }
}

bool FactorSharing::agree(const at::Tensor& weight, std::int64_t samples) const {
  // Of the other ranks. To multiply these takes a core about as long as to reduce the product in shared memory.
  constexpr std::int64_t kMostSamples = 32;
  // How much smaller the factors must be than the product, for it to be worth its trouble on a network too.
  constexpr std::int64_t kLeastGain = 4;
  const auto kernels = static_cast<std::int64_t>(cpu::kernel_level());
  const std::vector<at::Tensor> all =
      group_.all_gather(at::tensor({samples, kernels, std::int64_t{has_hooks(weight) ? 1 : 0}}, at::kLong));
  std::int64_t total = 0, most = 0;
  for (const at::Tensor& rank : all) {
    const auto* terms = rank.const_data_ptr<std::int64_t>();
    if (terms[1] != kernels || terms[2] != 0) return false;
    total += terms[0];
    most = std::max(most, terms[0]);
  }
  return kernels != static_cast<std::int64_t>(cpu::KernelLevel::kBase) && most * (group_.size() - 1) <= kMostSamples &&
         kLeastGain * total * (weight.size(0) + weight.size(1)) <= weight.numel();
}

void FactorSharing::begin() {
  for (Weight& weight : weights_) weight.result = nullptr;
}

kernels::FactorExchange FactorSharing::find(const at::Tensor& parameter, std::int64_t samples) {
  const auto found = numbers_.find(parameter.unsafeGetTensorImpl());
  if (found == numbers_.end()) return {};
  Weight& weight = weights_[found->second];
  if (!weight.shared) weight.shared = agree(parameter, samples);
  if (!*weight.shared) return {};
  return [this, &weight](const kernels::LinearFactors& own, const at::Tensor& result) {
    return exchange(weight, own, result);
  };
}

kernels::LinearFactors FactorSharing::exchange(Weight& weight, const kernels::LinearFactors& own,
                                               const at::Tensor& result) {
  const bool good = !check_ || (looks_finite(own.gradient) && looks_finite(own.input));
  if (!good) flow_.count_bad(weight.parameter);
  weight.result = result.const_data_ptr();
  weight.version = result._version();

  const auto begin = trace::Clock::now();
  const at::Tensor rows = at::cat({own.gradient, own.input}, 1);
  at::Tensor all;
  {
    const TracedWait traced("all_gather", "all_gather.wait", rows.nbytes());
    all = at::cat(group_.all_gather(rows));
  }
  flow_.count_exchange(trace::Clock::now() - begin);
  const std::int64_t outputs = own.gradient.size(1);
  return {all.narrow(1, 0, outputs) / group_.size(), all.narrow(1, outputs, own.input.size(1))};
}

// In place or not, whatever else became part of the gradient made a new version of it, or another tensor.
bool FactorSharing::made(std::size_t parameter, const at::Tensor& incoming) const {
  const Weight& weight = weights_[parameter];
  return weight.result != nullptr && incoming.const_data_ptr() == weight.result &&
         incoming._version() == weight.version;
}

}  // namespace lockstep::parallel

#include "factor_sharing.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/autograd/variable.h>

#include <lockstep/base/cpu.h>

#include "traced_collective.h"

namespace lockstep::parallel {
namespace {

// Whether somebody but the reduction wants to have this rank's own gradient.
bool is_looked_at(const at::Tensor& weight) {
  const auto* meta = torch::autograd::impl::get_autograd_meta(weight);
  return weight.grad().defined() || !meta->hooks_.empty() || meta->cpp_hooks_list_ != nullptr;
}

// What a rank sends: its rows, [gradient | input], and before them one that is zero unless gradients must be reduced.
at::Tensor rows_of(const kernels::LinearFactors& own, bool reduce) {
  const std::int64_t outputs = own.gradient.size(1), features = own.input.size(1);
  at::Tensor rows = at::empty({own.input.size(0) + 1, outputs + features}, own.input.options());
  rows[0].fill_(reduce ? 1 : 0);
  rows.slice(0, 1).narrow(1, 0, outputs).copy_(own.gradient);
  rows.slice(0, 1).narrow(1, outputs, features).copy_(own.input);
  return rows;
}

}  // namespace

FactorSharing::FactorSharing(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check)
    : group_(std::move(group)), flow_(flow), check_(check) {
  for (const at::Tensor& parameter : parameters) {
    numbers_[parameter.unsafeGetTensorImpl()] = weights_.size();
    weights_.push_back({.parameter = parameter, .shared = {}, .product = {}});
  }
}

bool FactorSharing::agree(const at::Tensor& weight, std::int64_t samples) const {
  // Of the other ranks. To multiply these takes a core about as long as to reduce the product in shared memory.
  constexpr std::int64_t kMostSamples = 32;
  // How much smaller the factors must be than the product, for it to be worth its trouble on a network too.
  constexpr std::int64_t kLeastGain = 4;
  const auto kernels = static_cast<std::int64_t>(cpu::kernel_level());
  const std::vector<at::Tensor> all = group_.all_gather(at::tensor({samples, kernels}, at::kLong));
  std::int64_t total = 0, most = 0;
  for (const at::Tensor& rank : all) {
    const auto* terms = rank.const_data_ptr<std::int64_t>();
    if (terms[1] != kernels) return false;
    total += terms[0];
    most = std::max(most, terms[0]);
  }
  return kernels != static_cast<std::int64_t>(cpu::KernelLevel::kBase) && most * (group_.size() - 1) <= kMostSamples &&
         kLeastGain * total * (weight.size(0) + weight.size(1)) <= weight.numel();
}

void FactorSharing::begin() {
  for (Weight& weight : weights_) weight.product.reset();
}

kernels::FactorExchange FactorSharing::find(const at::Tensor& parameter, std::int64_t samples) {
  const auto found = numbers_.find(parameter.unsafeGetTensorImpl());
  if (found == numbers_.end()) return {};
  Weight& weight = weights_[found->second];
  if (!weight.shared) weight.shared = agree(parameter, samples);
  if (!*weight.shared) return {};
  return [weak = weak_from_this(), &weight](const kernels::LinearFactors& own, const at::Tensor& result) {
    const auto self = weak.lock();
    return self ? self->exchange(weight, own, result) : own;
  };
}

kernels::LinearFactors FactorSharing::exchange(Weight& weight, const kernels::LinearFactors& own,
                                               const at::Tensor& result) {
  const auto begin = trace::Clock::now();
  const at::Tensor rows = rows_of(own, is_looked_at(weight.parameter));
  std::vector<at::Tensor> all;
  {
    const TracedWait traced("all_gather", "all_gather.wait", rows.nbytes());
    all = group_.all_gather(rows);
  }
  flow_.count_exchange(trace::Clock::now() - begin);
  const auto must_reduce = [](const at::Tensor& its) { return *its.const_data_ptr<float>() != 0; };
  if (std::any_of(all.begin(), all.end(), must_reduce)) return own;

  if (check_ && !at::isfinite(rows).all().item<bool>()) flow_.count_bad(weight.parameter);
  weight.product = result.storage().getWeakStorageImpl();
  weight.version = result._version();
  for (at::Tensor& its : all) its = its.slice(0, 1);
  const at::Tensor joined = at::cat(all);
  const std::int64_t outputs = own.gradient.size(1);
  return {joined.narrow(1, 0, outputs) / group_.size(), joined.narrow(1, outputs, own.input.size(1))};
}

// In place or not, whatever else became part of the gradient made a new version of it, or another tensor.
bool FactorSharing::made(std::size_t parameter, const at::Tensor& incoming) const {
  const Weight& weight = weights_[parameter];
  if (!weight.product || incoming._version() != weight.version) return false;
  const auto storage = weight.product->lock();
  return storage && storage.get() == incoming.storage().unsafeGetStorageImpl();
}

}  // namespace lockstep::parallel

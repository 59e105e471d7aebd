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

// What a rank sends: its rows, [gradient | input], and before them one that is zero where factors may be shared.
at::Tensor rows_of(const kernels::LinearFactors& own, const at::Tensor& weight, bool share) {
  const std::int64_t outputs = weight.size(0), features = weight.size(1);
  const std::int64_t samples = own.input.defined() ? own.input.size(0) : 0;
  at::Tensor rows = at::empty({samples + 1, outputs + features}, weight.options());
  rows[0].fill_(share ? 0 : 1);
  if (samples > 0) {
    rows.slice(0, 1).narrow(1, 0, outputs).copy_(own.gradient);
    rows.slice(0, 1).narrow(1, outputs, features).copy_(own.input);
  }
  return rows;
}

}  // namespace

FactorSharing::FactorSharing(Group group, const std::vector<at::Tensor>& parameters, BucketFlow& flow, bool check)
    : group_(std::move(group)), flow_(flow), check_(check) {
  for (const at::Tensor& parameter : parameters) {
    numbers_[parameter.unsafeGetTensorImpl()] = weights_.size();
    weights_.push_back({.parameter = parameter, .shared = {}});
  }
}

bool FactorSharing::agree(std::size_t weight, std::int64_t samples) {
  // How much smaller the factors must be than the product.
  constexpr std::int64_t kLeastGain = 4;
  const auto kernels = static_cast<std::int64_t>(cpu::kernel_level());
  Samples of_all;
  bool are_same = kernels != static_cast<std::int64_t>(cpu::KernelLevel::kBase);
  for (const at::Tensor& rank : group_.all_gather(at::tensor({samples, kernels}, at::kLong))) {
    const auto* terms = rank.const_data_ptr<std::int64_t>();
    are_same = are_same && terms[1] == kernels;
    of_all.all += terms[0];
    of_all.most = std::max(of_all.most, terms[0]);
  }
  const at::Tensor& tensor = parameter(weight);
  return are_same && kLeastGain * of_all.all * (tensor.size(0) + tensor.size(1)) <= tensor.numel() &&
         suits(weight, of_all);
}

kernels::FactorExchange FactorSharing::find(const at::Tensor& parameter, std::int64_t samples) {
  const auto found = numbers_.find(parameter.unsafeGetTensorImpl());
  if (found == numbers_.end()) return {};
  const std::size_t number = found->second;
  Weight& weight = weights_[number];
  if (!weight.shared) weight.shared = agree(number, samples);
  if (!*weight.shared) return {};
  return [weak = weak_from_this(), number](const kernels::LinearFactors& own, at::Tensor& result) {
    const auto self = weak.lock();
    return self ? self->exchange(number, own, result) : own;
  };
}

std::optional<std::vector<at::Tensor>> FactorSharing::gather(std::size_t weight, const kernels::LinearFactors& own,
                                                             bool share) {
  at::Tensor rows;
  std::vector<at::Tensor> all;
  counted([&] {
    rows = rows_of(own, parameter(weight), share);
    const TracedWait traced("all_gather", "all_gather.wait", rows.nbytes());
    all = group_.all_gather(rows);
  });
  const auto may_share = [](const at::Tensor& its) { return *its.const_data_ptr<float>() == 0; };
  if (!std::all_of(all.begin(), all.end(), may_share)) return {};
  if (check_ && !at::isfinite(rows).all().item<bool>()) flow_.count_bad(parameter(weight));
  for (at::Tensor& its : all) its = its.slice(0, 1);
  return all;
}

bool FactorSharing::is_looked_at(std::size_t weight) const {
  const at::Tensor& tensor = parameter(weight);
  const auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  return tensor.grad().defined() || !meta->hooks_.empty() || meta->cpp_hooks_list_ != nullptr ||
         meta->post_acc_grad_hooks_ != nullptr;
}

kernels::LinearFactors joined(const std::vector<at::Tensor>& gathered, std::int64_t outputs) {
  const at::Tensor all = at::cat(gathered);
  const auto ranks = static_cast<double>(gathered.size());
  return {all.narrow(1, 0, outputs) / ranks, all.narrow(1, outputs, all.size(1) - outputs)};
}

}  // namespace lockstep::parallel

#include "gradient_reducer.h"

#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include "bucket_plan.h"

namespace lockstep::parallel {

GradientReducer::GradientReducer(Group group, NamedTensors::List parameters, const FusionOptions& options, bool uneven,
                                 bool check)
    : group_(std::move(group)),
      parameters_(std::move(parameters)),
      options_(options),
      uneven_(uneven),
      check_(check),
      active_(at::empty({1}, at::kLong)) {
  std::vector<std::size_t> order(parameters_.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  make_buckets(order);
}

void GradientReducer::make_buckets(const std::vector<std::size_t>& order) {
  buckets_.clear();
  bucket_of_.assign(parameters_.size(), 0);
  const BucketLimits limits{.first_bytes = options_.bytes, .bytes = options_.bytes, .alone_bytes = options_.bytes / 4};
  for (const auto& members : plan_buckets(tensors_of(parameters_), order, limits)) {
    NamedTensors::List list;
    for (const std::size_t member : members) {
      bucket_of_[member] = buckets_.size();
      list.push_back(parameters_[member]);
    }
    buckets_.emplace_back(std::move(list), options_);
  }
  expect_all();
}

void GradientReducer::expect_all() {
  missing_.assign(buckets_.size(), 0);
  for (const std::size_t bucket : bucket_of_) ++missing_[bucket];
}

void GradientReducer::begin(bool takes_part) {
  if (std::exchange(begun_, true)) return;
  check_.begin();
  if (!uneven_) return;
  active_.fill_(takes_part ? 1 : 0);
  counting_ = group_.all_reduce_async(active_);
}

void GradientReducer::start_next() {
  buckets_[next_].start(group_, check_);
  ++next_;
}

void GradientReducer::ready(std::size_t parameter) {
  const std::lock_guard lock(mutex_);
  const at::NoGradGuard no_gradients;
  if (!agreed_) arrivals_.push_back(parameter);
  --missing_[bucket_of_[parameter]];
  // Adasum's messages are waited for where they are sent, and would hold up backward.
  if (options_.reduction == GradientReduction::kAdasum) return;
  while (next_ < buckets_.size() && missing_[next_] == 0) {
    begin(true);
    start_next();
  }
}

bool GradientReducer::busy() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

void GradientReducer::forget() {
  const std::lock_guard lock(mutex_);
  expect_all();
  arrivals_.clear();
}

bool GradientReducer::finish(bool takes_part) {
  const std::lock_guard lock(mutex_);
  const at::NoGradGuard no_gradients;
  begin(takes_part);
  if (counting_) {
    counting_->wait();
    counting_.reset();
    if (active_.item<std::int64_t>() == 0) {
      begun_ = false;
      return false;
    }
  }
  while (next_ < buckets_.size()) start_next();
  trace::Clock::time_point busy_until;
  for (FusedGradients& bucket : buckets_) bucket.finish(busy_until, check_);
  next_ = 0;
  begun_ = false;
  expect_all();
  agree_on_order();
  check_.require_finite(group_);
  return true;
}

void GradientReducer::agree_on_order() {
  if (std::exchange(agreed_, true)) return;
  std::vector<bool> came(parameters_.size());
  for (const std::size_t parameter : arrivals_) came[parameter] = true;
  for (std::size_t i = parameters_.size(); i-- > 0;) {
    if (!came[i]) arrivals_.push_back(i);
  }
  const at::Tensor order = at::tensor(std::vector<std::int64_t>(arrivals_.begin(), arrivals_.end()), at::kLong);
  group_.broadcast(order, 0);
  const auto* first = order.const_data_ptr<std::int64_t>();
  make_buckets({first, first + order.numel()});
  arrivals_ = {};
}

}  // namespace lockstep::parallel

#include "bucket_flow.h"

#include <algorithm>
#include <utility>

#include <lockstep/trace/span.h>

namespace lockstep::parallel {
namespace {

BucketWork average_meanwhile(const GradientBucket& bucket, const Group& group) {
  return {group.all_reduce_async(bucket.buffer, Reduce::kAverage), {}};
}

BucketWork average_at_the_end(const GradientBucket& bucket, const Group& group) {
  return {{}, [buffer = bucket.buffer, group] { group.all_reduce(buffer, Reduce::kAverage); }};
}

}  // namespace

BucketFlow::BucketFlow(const Group& group, const DistributedDataParallelOptions& options,
                       const NamedTensors::List& parameters)
    : group_(group), hook_(options.hook), check_(options.check_gradients), divisor_(group.size()) {
  for (const auto& [name, parameter] : parameters) {
    names_[parameter.unsafeGetTensorImpl()] = name;
    stats_.bytes += static_cast<std::int64_t>(parameter.nbytes());
  }
}

void BucketFlow::choose_average(bool overlap) {
  const bool anywhere = group_.all_reduce_value(std::int64_t{overlap ? 1 : 0}, Reduce::kMax) == 1;
  hook_ = anywhere ? average_meanwhile : average_at_the_end;
}

const std::string& BucketFlow::name_of(const at::Tensor& parameter) const {
  return names_.at(parameter.unsafeGetTensorImpl());
}

void BucketFlow::set_completion(const at::Tensor& parameter, Completion completion) {
  if (completion) {
    completions_[parameter.unsafeGetTensorImpl()] = std::move(completion);
  } else {
    completions_.erase(parameter.unsafeGetTensorImpl());
  }
}

const BucketFlow::Completion* BucketFlow::completion_of(const GradientBucket& bucket) const {
  if (bucket.parameters.size() != 1) return nullptr;
  const auto found = completions_.find(bucket.parameters[0].unsafeGetTensorImpl());
  return found == completions_.end() ? nullptr : &found->second;
}

void BucketFlow::look_before(const GradientBucket& bucket) {
  for (std::size_t i = 0; i < bucket.gradients.size(); ++i) {
    check_.look_before(name_of(bucket.parameters[i]), bucket.gradients[i]);
  }
}

void BucketFlow::begin() {
  pending_.clear();
  completions_.clear();
  check_.begin();
  waited_ = {};
  reduced_ = {};
  exchanged_ = {};
}

std::size_t BucketFlow::start(GradientBucket bucket) {
  const std::size_t index = bucket.index = pending_.size();
  bucket.is_last = index + 1 == buckets_;
  const auto started = trace::now();
  if (completion_of(bucket) != nullptr) {
    pending_.push_back({std::move(bucket), {}, started, {}});
    trace("all_reduce.factored", pending_.back(), started, started);
    return index;
  }
  look_before(bucket);
  BucketWork work = hook_(bucket, group_);
  auto ended = std::make_shared<std::atomic<Clock::rep>>(0);
  if (work.work && bucket.buffer.is_cpu()) {
    work.work->on_done([ended] { *ended = Clock::now().time_since_epoch().count(); });
  }
  pending_.push_back({std::move(bucket), std::move(work), started, std::move(ended)});
  // When a GPU reduces, its own track has to tell.
  if (!pending_.back().bucket.buffer.is_cpu()) trace("all_reduce.launch", pending_.back(), started, Clock::now());
  return index;
}

void BucketFlow::trace(const char* name, const Pending& pending, Clock::time_point began, Clock::time_point ended) {
  const GradientBucket& bucket = pending.bucket;
  const std::int64_t queued = std::chrono::nanoseconds(began - pending.started).count();
  trace::add_communication(name, began, ended,
                           {{{"bucket", static_cast<std::int64_t>(bucket.index)},
                             {"bytes", static_cast<std::int64_t>(bucket.buffer.nbytes())},
                             {"queued_ns", queued}}});
}

at::Tensor BucketFlow::finish(std::size_t index) {
  Pending& pending = pending_.at(index);
  at::Tensor buffer = pending.bucket.buffer;
  const Completion* const completion = completion_of(pending.bucket);
  const auto begin = Clock::now();
  if (completion != nullptr) {
    if ((*completion)(pending.bucket)) ++factored_;
  } else {
    const trace::Span span("all_reduce.wait", {{{"bucket", static_cast<std::int64_t>(index)}}});
    if (pending.work.work) pending.work.work->wait();
    if (pending.work.finish) pending.work.finish();
    if (divisor_ != group_.size()) pending.bucket.buffer.mul_(static_cast<double>(group_.size()) / divisor_);
  }
  const auto end = Clock::now();
  if (completion == nullptr) waited_ += end - begin;
  if (!pending.work.work && completion == nullptr) {
    reduced_ += end - begin;
    if (pending.bucket.buffer.is_cpu()) trace("all_reduce", pending, begin, end);
  }
  const GradientBucket& bucket = pending.bucket;
  for (std::size_t i = 0; i < bucket.gradients.size(); ++i) {
    check_.look_after(name_of(bucket.parameters[i]), bucket.gradients[i]);
  }
  if (bucket.is_last) end_step();
  return buffer;
}

void BucketFlow::end_step() {
  if (pending_.front().bucket.buffer.is_cpu()) {
    const auto now = Clock::now();
    Clock::time_point busy_until;
    std::chrono::duration<double> busy = reduced_ + exchanged_;
    for (const Pending& pending : pending_) {
      if (!pending.work.work) continue;
      const Clock::rep ended = *pending.ended;
      const auto end = ended == 0 ? now : Clock::time_point(Clock::duration(ended));
      const auto start = std::max(pending.started, busy_until);
      if (end > start) busy += end - start;
      trace("all_reduce", pending, start, std::max(start, end));
      busy_until = std::max(busy_until, end);
    }
    stats_.communication += busy;
    stats_.exposed += std::min(waited_ + exchanged_, busy);
  }
  ++stats_.steps;
  stats_.buckets = static_cast<std::int64_t>(pending_.size());
  stats_.adopted = std::exchange(adopted_, 0);
  stats_.factored = std::exchange(factored_, 0);
  pending_.clear();
}

}  // namespace lockstep::parallel

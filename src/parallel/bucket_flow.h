#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/parallel/distributed_data_parallel.h>

#include "finite_check.h"

namespace lockstep::parallel {

// The buckets of one step on their way: started during backward as they become ready, finished in the same order when
// backward has come to its end.
class BucketFlow {
 public:
  BucketFlow(const Group& group, const DistributedDataParallelOptions& options, const NamedTensors::List& parameters);

  // Collective. Takes a plain average for the hook: during backward if one rank wants it so, else at its end. All do
  // the same, because it changes the order of their collectives.
  void choose_average(bool overlap);

  // A step has so many buckets from now on.
  void expect(std::size_t buckets) { buckets_ = buckets; }

  // What follows belongs to a new step.
  void begin();

  // How, in this step, the gradient of this parameter becomes the average, where it has a bucket of its own: by this,
  // when the bucket is finished, and not by a reduction. It says whether the factors of all ranks were multiplied. An
  // empty one takes that back.
  using Completion = std::function<bool(const GradientBucket& bucket)>;
  void set_completion(const at::Tensor& parameter, Completion completion);

  // Looks for gradients that are not finite before they are reduced.
  void look_before(const GradientBucket& bucket);

  // In this step, this rank's part of such a gradient is not finite.
  void count_bad(const at::Tensor& parameter) { check_.count_bad(name_of(parameter)); }

  // Of the time of this step, so much went by while this thread exchanged what gradients are made of.
  void count_exchange(std::chrono::duration<double> time) { exchanged_ += time; }

  // Returns the bucket's number, which is given here: in the first step of a static graph Reducer numbers all with 0.
  std::size_t start(GradientBucket bucket);

  // Waits for the bucket's reduction, and returns its buffer, which now holds averages.
  at::Tensor finish(std::size_t index);

  // After a step. Throws NotFiniteError, on every rank alike, when gradients were not finite in it.
  void require_finite() const { check_.require_finite(group_); }

  std::int64_t steps() const { return stats_.steps; }  // whose last bucket was finished

  // Gradients are divided by this number of ranks from now on.
  void set_divisor(int ranks) { divisor_ = ranks; }

  void count_adopted() { ++adopted_; }
  const DistributedDataParallelStats& stats() const { return stats_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    GradientBucket bucket;
    BucketWork work;
    Clock::time_point started;
    std::shared_ptr<std::atomic<Clock::rep>> ended;  // 0 until it is done
  };
  // On the timeline: the bucket's reduction, which was asked for when it was ready and began at `began`.
  static void trace(const char* name, const Pending& pending, Clock::time_point began, Clock::time_point ended);
  const Completion* completion_of(const GradientBucket& bucket) const;
  void end_step();
  const std::string& name_of(const at::Tensor& parameter) const;

  Group group_;
  CommHook hook_;
  FiniteCheck check_;
  int divisor_;
  std::map<const void*, std::string> names_;
  std::size_t buckets_ = 0;
  std::vector<Pending> pending_;
  std::map<const void*, Completion> completions_;  // of parameters
  std::int64_t factored_ = 0;
  std::int64_t adopted_ = 0;
  std::chrono::duration<double> waited_{};   // in this step
  std::chrono::duration<double> reduced_{};  // of which by this thread itself
  std::chrono::duration<double> exchanged_{};
  DistributedDataParallelStats stats_;
};

}  // namespace lockstep::parallel

#pragma once
#include <torch/csrc/distributed/c10d/comm.hpp>

#include "bucket_flow.h"

namespace lockstep::parallel {

// Without its number.
GradientBucket to_bucket(const c10d::GradBucket& bucket);

// What c10d::Reducer calls when a bucket is ready, and again when backward has come to its end. Reducer would wait for
// the future of a bucket without a deadline, so it gets one that is complete, and BucketFlow does the waiting.
class ReducerHook : public c10d::CommHookInterface {
 public:
  // `after_backward` is called when Reducer has done all that it does.
  ReducerHook(BucketFlow& flow, std::function<void()> after_backward)
      : flow_(flow), after_backward_(std::move(after_backward)) {}
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override;
  at::Tensor parseHookResult(const c10::IValue& result) override;

 private:
  BucketFlow& flow_;
  std::function<void()> after_backward_;
};

}  // namespace lockstep::parallel

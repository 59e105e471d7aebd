#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include <lockstep/bench/step.h>
#include <lockstep/data/loader.h>

namespace lockstep::bench {

// What a model trains on: one batch of random numbers again and again, or pictures, epoch after epoch.
class Batches {
 public:
  // `shape` is that of one sample. Throws UsageError for pictures that the model cannot take.
  Batches(const StepOptions& options, const Group& group, const std::vector<std::int64_t>& shape, std::int64_t classes);

  const data::Batch& batch() const { return batch_; }
  void next();  // a whole one: what is left at the end of an epoch is passed over

  // Time that went by waiting for data.
  std::chrono::duration<double> waited() const;

 private:
  std::int64_t size_;
  std::unique_ptr<data::Loader> loader_;
  data::Batch batch_;
};

}  // namespace lockstep::bench

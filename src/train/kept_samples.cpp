#include "kept_samples.h"

#include <algorithm>

namespace lockstep::train {

std::optional<data::Batch> KeptSamples::next() {
  auto batch = source_.next();
  if (batch && count_ > 0 && !first_.defined() && batch->data.size(0) > 0) {
    first_ = batch->data.slice(0, 0, std::min(count_, batch->data.size(0))).clone();
  }
  return batch;
}

}  // namespace lockstep::train

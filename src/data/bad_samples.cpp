#include "bad_samples.h"

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>

namespace lockstep::data {

void BadSamples::add(std::int64_t sample, const SampleError& error) {
  if (on_error_ == OnError::kStop) throw error;
  const std::lock_guard lock(mutex_);
  if (!samples_.insert(sample).second) return;
  // On every rank: each sees its own part of the data.
  log::error("skipped: {}", error.what());
  if (static_cast<std::int64_t>(samples_.size()) > limit_) {
    throw UsageError({.message = "there are too many bad samples",
                      .found = fmt::format("{} on this rank; the last is {}", samples_.size(), error.parts().message),
                      .expected = fmt::format("at most {}", limit_),
                      .next = "mend the data (lockstep data verify lists what is bad), or allow more"});
  }
}

bool BadSamples::contains(std::int64_t sample) const {
  const std::lock_guard lock(mutex_);
  return samples_.contains(sample);
}

std::int64_t BadSamples::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(samples_.size());
}

}  // namespace lockstep::data

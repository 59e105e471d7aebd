#pragma once
#include <cstdint>
#include <mutex>
#include <set>

#include <lockstep/data/loader.h>

namespace lockstep::data {

// The samples of a rank that turned out to be bad. Every thread may use it.
class BadSamples {
 public:
  BadSamples(OnError on_error, std::int64_t limit) : on_error_(on_error), limit_(limit) {}

  // Notes and logs one that may be skipped; else throws.
  void add(std::int64_t sample, const SampleError& error);

  bool contains(std::int64_t sample) const;
  std::int64_t count() const;

 private:
  const OnError on_error_;
  const std::int64_t limit_;
  mutable std::mutex mutex_;
  std::set<std::int64_t> samples_;
};

}  // namespace lockstep::data

#pragma once
#include <cstdint>

#include <lockstep/data/picture.h>

namespace lockstep::data {

// What `read` makes of the first of `count` samples for which it throws no SampleError; after `tries` it throws that.
auto first_good(std::int64_t count, std::int64_t tries, const auto& read) {
  for (std::int64_t sample = 0;; ++sample) {
    try {
      return read(sample);
    } catch (const SampleError&) {
      if (sample >= tries || sample + 1 >= count) throw;
    }
  }
}

}  // namespace lockstep::data

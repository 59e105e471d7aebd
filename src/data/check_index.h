#pragma once
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {

// Throws UsageError for a sample that the set does not have.
inline void check_index(std::int64_t index, std::int64_t size) {
  if (index >= 0 && index < size) return;
  throw UsageError({.message = "the data set has no such sample",
                    .found = std::to_string(index),
                    .expected = fmt::format("0 to {}", size - 1)});
}

}  // namespace lockstep::data

#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep::trace {

// Stretches of time, in order and without overlap.
class Intervals {
 public:
  Intervals() = default;
  explicit Intervals(std::vector<std::pair<std::int64_t, std::int64_t>> parts) {
    std::sort(parts.begin(), parts.end());
    for (const auto& part : parts) {
      if (!parts_.empty() && part.first <= parts_.back().second) {
        parts_.back().second = std::max(parts_.back().second, part.second);
      } else {
        parts_.push_back(part);
      }
    }
  }

  std::int64_t length() const {
    std::int64_t sum = 0;
    for (const auto& [begin, end] : parts_) sum += end - begin;
    return sum;
  }

  Intervals in_common(const Intervals& other) const {
    Intervals common;
    auto a = parts_.begin();
    auto b = other.parts_.begin();
    while (a != parts_.end() && b != other.parts_.end()) {
      const std::int64_t begin = std::max(a->first, b->first), end = std::min(a->second, b->second);
      if (begin < end) common.parts_.emplace_back(begin, end);
      if (a->second < b->second) {
        ++a;
      } else {
        ++b;
      }
    }
    return common;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> parts_;
};

}  // namespace lockstep::trace

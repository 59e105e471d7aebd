#include "filter_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep::data {

void FilterTable::build(const Stretch& stretch) {
  measure(stretch);
  round();
}

void FilterTable::measure(const Stretch& stretch) {
  const double step = stretch.length / stretch.scaled;
  const double support = std::max(step, 1.0);
  const double inverse = 1 / support;
  // The whole part is added last, so that a crop is resized with the very weights of a picture that begins there.
  const double whole = std::floor(stretch.start), rest = stretch.start - whole;
  const int base = static_cast<int>(whole);
  const int low = stretch.low - base, high = stretch.high - base;
  taps_ = std::min(static_cast<int>(2 * support) + 1, high - low);
  const auto count = static_cast<std::size_t>(stretch.count), width = static_cast<std::size_t>(taps_);
  first_.resize(count);
  exact_.assign(count * width, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const double center = rest + (stretch.begin + static_cast<double>(i) + 0.5) * step;
    // Never past the end, so that a pixel has at least one part however the numbers are rounded.
    const int first = std::clamp(static_cast<int>(std::floor(center - support + 0.5)), low, high - 1);
    const int last = std::clamp(static_cast<int>(std::floor(center + support + 0.5)), first + 1, high);
    // The row of weights must not reach beyond the source either.
    const int begin = std::min(first, high - taps_);
    double* weights = exact_.data() + i * width + (first - begin);
    double total = 0;
    const int taps = std::min(last - first, taps_);
    for (int tap = 0; tap < taps; ++tap) {
      weights[tap] = std::max(0.0, 1 - std::abs((first + tap - center + 0.5) * inverse));
      total += weights[tap];
    }
    if (total > 0) {
      for (int tap = 0; tap < taps; ++tap) weights[tap] /= total;
    } else {
      weights[0] = 1;
    }
    first_[i] = base + begin;
  }
}

void FilterTable::round() {
  // 8 bits of pixel and 22 of weight leave room for the sum.
  constexpr int kMostBits = 22, kFewestBits = 14;
  // Less than 16 bits hold, because of what is added below.
  constexpr double kMostWeight = 32'000;
  const double largest = *std::max_element(exact_.begin(), exact_.end());
  shift_ = kFewestBits;
  while (shift_ < kMostBits && largest * (2 << shift_) < kMostWeight) ++shift_;
  const double unit = 1 << shift_;
  rounded_.resize(exact_.size());
  for (std::size_t i = 0; i < exact_.size(); ++i)
    rounded_[i] = static_cast<std::int16_t>(std::floor(exact_[i] * unit + 0.5));
  // What rounding added or took away goes to the largest weight, so that a picture of one color keeps it.
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const auto begin = rounded_.begin() + static_cast<std::ptrdiff_t>(i) * taps_, end = begin + taps_;
    const int missing = (1 << shift_) - std::accumulate(begin, end, 0);
    const auto most = std::max_element(begin, end);
    *most = static_cast<std::int16_t>(*most + missing);
  }
}

RowTaps FilterTable::for_rows(bool mirrored) {
  const int groups = (taps_ + kTapGroup - 1) / kTapGroup;
  const auto count = static_cast<std::size_t>(first_.size());
  row_first_.resize(count);
  row_weights_.assign(count * static_cast<std::size_t>(groups * kTapGroup), 0);
  reach_ = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = mirrored ? count - 1 - i : i;
    row_first_[i] = first_[from];
    reach_ = std::max(reach_, first_[from] + groups * kTapGroup);
    const std::int16_t* weights = rounded_.data() + from * static_cast<std::size_t>(taps_);
    for (int tap = 0; tap < taps_; ++tap) {
      const auto group = static_cast<std::size_t>(tap / kTapGroup), place = static_cast<std::size_t>(tap % kTapGroup);
      row_weights_[(group * count + i) * kTapGroup + place] = weights[tap];
    }
  }
  return {.first = row_first_.data(),
          .weights = row_weights_.data(),
          .groups = groups,
          .count = static_cast<int>(count),
          .shift = shift_};
}

}  // namespace lockstep::data

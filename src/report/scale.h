// From numbers to places: where a value lies on an axis, at which round numbers the axis has its ticks, and their
// texts.
#pragma once
#include <string>
#include <vector>

#include "figure.h"

namespace lockstep::report {

struct Scale {
  double low = 0, high = 1;  // of the values; low < high, and 0 < low where is_log
  double from = 0, to = 1;   // of the places
  bool is_log = false;

  // NaN for NaN, and for 0 and less where is_log.
  double at(double value) const;
};

// Powers of ten, with 2 and 5 times those where they would be fewer than three.
std::vector<double> log_ticks(double low, double high);

// "0.05", "20%", "12k", "64 KiB". `step` is the distance of ticks, which says how many digits tell them apart.
std::string tick_text(double tick, double step, Unit unit);

// Bounds and ticks of an axis for values between `low` and `high`: at most nine round numbers (1, 2 or 5 times a power
// of ten). With `rounded` the bounds of a linear axis are ticks themselves.
struct Ticks {
  double low, high;
  bool is_log;
  std::vector<double> values;
  std::vector<std::string> texts;
};
Ticks ticks_for(const Axis& axis, double low, double high, bool rounded);

// A number in a table: up to five digits that count.
std::string number_text(double value, Unit unit = Unit::kNumber);

}  // namespace lockstep::report

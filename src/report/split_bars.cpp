#include "split_bars.h"

#include <cmath>

#include <fmt/format.h>

namespace lockstep::report {

void add_split_bar(BarChart& chart, const std::string& label, std::size_t input, const Split& split) {
  Bar bar{.label = label, .input = input, .segments = {}};
  const auto add = [&](const char* kind, double value) {
    if (std::isfinite(value)) bar.segments.push_back({kind, value});
  };
  add("data", split.data);
  add("compute", split.compute);
  add("communication", split.communication);
  if (!bar.segments.empty()) chart.bars.push_back(std::move(bar));
}

}  // namespace lockstep::report

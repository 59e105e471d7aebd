#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/report/data.h>

namespace lockstep::report {

struct Metrics {
  std::vector<MetricsRow> rows;    // in the order of steps
  std::vector<std::string> notes;  // on lines that were left out
};

// Reads the text of a metrics.jsonl, of any writer's. A line that is cut, too long, no JSON or of another kind is left
// out and noted; NaN and infinities, which some writers put there though JSON has none, are gaps. Throws nothing.
Metrics parse_metrics(std::string_view text);

}  // namespace lockstep::report

// Which process of a timeline a rank is.
#pragma once
#include <nlohmann/json.hpp>

namespace lockstep::test {

inline std::int64_t process_of(const nlohmann::json& trace, int rank) {
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("name") == "process_sort_index" && event.at("args").at("sort_index") == rank) return event.at("pid");
  }
  return -1;
}

}  // namespace lockstep::test

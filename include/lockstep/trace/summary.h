// A timeline in a few lines.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/trace/timeline.h>

namespace lockstep::trace {

// Of one rank, in milliseconds of an average step.
struct RankSummary {
  int rank = 0;
  double step = 0;
  double own = 0;  // of which the rank itself was at work, and not waiting for another
  double data = 0;
  double communication = 0;  // collectives under way
  double exposed = 0;        // of which nothing was computed
};

struct Summary {
  std::int64_t steps = 0;                // of the rank that has fewest
  double step = 0, least = 0, most = 0;  // milliseconds: the median of all ranks' steps, the shortest, the longest
  std::vector<RankSummary> ranks;
  int slowest = 0;                // the rank that had most to do itself
  double behind = 0;              // how much more than the median rank, as a part of that
  std::int64_t communicated = 0;  // bytes that a rank gave to collectives in a step
  std::int64_t uncertainty = 0;   // of the clocks, in nanoseconds
  std::int64_t lost = 0;          // events for which there was no room
};

Summary summarize(const std::vector<RankTimeline>& timelines);

// Some lines for people, each without its end.
std::vector<std::string> describe(const Summary& summary);
nlohmann::ordered_json to_json(const Summary& summary);

}  // namespace lockstep::trace

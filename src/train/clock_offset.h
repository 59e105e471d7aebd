#pragma once
#include <lockstep/comm/group.h>
#include <lockstep/trace/timeline.h>

namespace lockstep::train {

struct ClockSample {
  std::int64_t sent = 0, answered = 0, received = 0;  // by this rank's clock, rank 0's, and this rank's
};

// From the round trip that took least: rank 0 looked at its clock somewhere within it.
trace::ClockOffset offset_from(const std::vector<ClockSample>& samples);

// Collective. How this rank's clock stands against rank 0's. Ranks of one machine have one clock, and one of them asks
// for all, in a few round trips; with `each`, every rank asks for itself.
trace::ClockOffset measure_clock_offset(const Group& group, bool each = false);

}  // namespace lockstep::train

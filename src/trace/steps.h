#pragma once
#include <vector>

#include <lockstep/trace/recorder.h>

namespace lockstep::trace {

// The spans "iteration" in which more was done than looking for data, in order: at the end of an epoch there is none
// left, and no step.
std::vector<Event> steps_in(const Recording& recording);

// The one of these within which that time lies, or null.
const Event* step_at(const std::vector<Event>& steps, std::int64_t time);

}  // namespace lockstep::trace

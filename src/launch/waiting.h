// What is said of a wait for nodes that lasts.
#pragma once
#include <chrono>
#include <string>

#include "event_loop.h"

namespace lockstep::launch {

// So long nothing is said: most nodes come within it.
inline constexpr std::chrono::seconds kQuietWait{3};

// "until 14:05:33", by the clock on the wall.
std::string until(Clock::time_point deadline);

}  // namespace lockstep::launch

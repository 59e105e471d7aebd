#include "waiting.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace lockstep::launch {

std::string until(Clock::time_point deadline) {
  using Wall = std::chrono::system_clock;
  const auto wall = Wall::now() + std::chrono::duration_cast<Wall::duration>(deadline - Clock::now());
  return fmt::format("until {:%H:%M:%S}", fmt::localtime(Wall::to_time_t(wall)));
}

}  // namespace lockstep::launch

#include "time_limit.h"

#include <algorithm>
#include <charconv>

#include <lockstep/base/environment.h>

namespace lockstep::train {
namespace {

using Clock = TimeLimit::Clock;

// SLURM_JOB_END_TIME, in seconds since 1970.
std::optional<Clock::time_point> end_of_job() {
  const auto text = env::get("SLURM_JOB_END_TIME");
  std::int64_t seconds = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), seconds).ec != std::errc{} || seconds <= 0) {
    return std::nullopt;
  }
  return Clock::time_point(std::chrono::seconds(seconds));
}

}  // namespace

std::optional<Clock::time_point> time_to_stop(double minutes, std::chrono::duration<double> margin) {
  auto limit = end_of_job();
  if (minutes > 0) {
    const auto own =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(minutes * 60));
    limit = std::min(limit.value_or(own), own);
  }
  if (limit) *limit -= std::chrono::duration_cast<Clock::duration>(margin);
  return limit;
}

}  // namespace lockstep::train

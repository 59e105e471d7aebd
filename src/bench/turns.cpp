#include <lockstep/bench/turns.h>

#include <sys/resource.h>

#include <charconv>
#include <cmath>
#include <istream>
#include <ostream>

#include <lockstep/base/errors.h>
#include <lockstep/base/version.h>
#include <lockstep/gpu/memory.h>

#include "turn_lines.h"
#include "warm_trainee.h"

namespace lockstep::bench {
namespace {

constexpr double kMostSeconds = 3600;

double seconds_in(const std::string& line) {
  double seconds = 0;
  const char* end = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), end, seconds);
  if (error == std::errc{} && stop == end && seconds > 0 && seconds <= kMostSeconds) return seconds;
  throw UsageError({.message = "a turn of another length was asked for",
                    .found = line,
                    .expected = "a number of seconds, 3600 at most"});
}

std::int64_t peak_memory(const at::Device& device) {
  if (device.is_cuda()) return gpu::memory(device).peak;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  constexpr std::int64_t kKibibyte = 1024;
  return usage.ru_maxrss * kKibibyte;
}

}  // namespace

void serve_turns(const Group& group, const StepOptions& options, std::istream& requests, std::ostream& answers) {
  const RecipeGuard recipe(options.recipe);
  std::vector<std::unique_ptr<Trainee>> others;
  const auto trainee = make_warm(options.modes.front(), group, options, others);
  double step = time_steps(*trainee, group, options.device, 1);
  const auto say = [&](const std::string& line) {
    if (group.rank() == 0) answers << line << std::flush;
  };
  say(to_line(Ready{.parameters = trainee->parameters(), .about = "lockstep " + version()}));
  for (;;) {
    std::string line;
    if (group.rank() == 0) std::getline(requests, line);
    line = group.broadcast_text(line);
    if (line.empty()) return;
    const auto steps = std::max<std::int64_t>(1, std::llround(seconds_in(line) / step));
    step = time_steps(*trainee, group, options.device, steps);
    const auto memory = group.all_reduce_value(static_cast<double>(peak_memory(options.device)), Reduce::kSum);
    say(to_line(Turn{.samples_per_second = static_cast<double>(options.batch) * group.size() / step,
                     .peak_memory = static_cast<std::int64_t>(memory)}));
  }
}

}  // namespace lockstep::bench

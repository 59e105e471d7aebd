// Schedules from names and numbers, for configs and command lines.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <lockstep/base/parameters.h>
#include <lockstep/optim/schedule.h>

namespace lockstep::optim {

// The names and their parameters, those in brackets with a default:
//
// - constant: [factor] [length]
// - cosine: length [minimum]
// - cosine_restarts: length [growth] [minimum]
// - exponential: [factor]
// - multi_step: milestones (one or several numbers) [factor]
// - one_cycle: length [rise] [start_divisor] [end_divisor] [anneal: cos or linear]
// - plateau: [patience] [factor] [mode: min or max] [threshold] [threshold_mode: rel or abs] [cooldown] [minimum]
// - polynomial: length [power]
// - step: every [factor]
// - warmup: length [from]
//
// Throws UsageError for an unknown name or parameter, with the nearest, and for values that make no sense.
Schedule make_schedule(std::string_view name, const Parameters& parameters = {});

// All names, in the order of the alphabet.
const std::vector<std::string>& schedule_names();

// Schedules as text: NAME, or NAME(VALUES), where values come in the order above or as key=value; of multi_step all
// numbers are milestones. Joined by + (one after the other) and * (both at once), as the operators of Schedule; * binds
// more tightly. "warmup(5) + cosine(85, minimum=1e-5)". Throws UsageError, which shows the place.
Schedule parse_schedule(std::string_view text);

}  // namespace lockstep::optim

// The learning rate that a config asks for.
#pragma once
#include <lockstep/optim/learning_rate.h>
#include <lockstep/train/run_config.h>

namespace lockstep::train {

// `schedule.rate` with the warm-up as a factor in front of it: milestones count from the start of the run, and a
// plateau begins to look only when the warm-up is over.
//
// The warm-up is a straight line. With `warmup_from` it begins there. Without it, where ranks scale the rate, it begins
// with the rate of a single rank (Goyal et al., Horovod); else the n-th of its W epochs (or steps) has n / W of the
// rate, and by the clock `epoch-fractions` the rate is the part of the warm-up that has gone by.
//
// Throws UsageError, which shows the place in the text.
optim::Schedule schedule_of(const RunConfig& config);

optim::LearningRateOptions learning_rate_of(const RunConfig& config, int ranks);

// Warns of a schedule that falls to 0 long before the run ends, because it was made for a shorter one. `settings` tells
// where it comes from.
void warn_of_rate_of_zero(const RunConfig& config, const std::vector<config::Setting>& settings);

}  // namespace lockstep::train

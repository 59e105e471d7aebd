#pragma once
#include <lockstep/train/run_config.h>

#include "places.h"

namespace lockstep::train {

// Whoever waits for a test metric needs evaluations while training goes on. Throws UsageError where there are none.
void require_evaluations(const RunConfig& config, const Places& places);

}  // namespace lockstep::train

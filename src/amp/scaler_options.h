#pragma once
#include <lockstep/amp/grad_scaler.h>

namespace lockstep::amp {

// Throws UsageError for options that make no sense.
void check(const GradScalerOptions& options);

// Throws UsageError, which names the option, for what cannot be a scale.
void check_scale(const char* option, double scale);

}  // namespace lockstep::amp

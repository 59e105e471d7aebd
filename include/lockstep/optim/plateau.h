// When a metric stops improving: torch.optim.lr_scheduler.ReduceLROnPlateau, taken apart into options, state and a
// step.
#pragma once
#include <optional>

namespace lockstep::optim {

struct PlateauOptions {
  bool maximize = false;          // whether more is better, as of an accuracy
  double factor = 0.1;            // what a reduction multiplies the rate by
  int patience = 10;              // epochs without improvement that are put up with
  double threshold = 1e-4;        // what counts as an improvement
  bool threshold_is_rate = true;  // of the best so far; else a difference
  int cooldown = 0;               // epochs after a reduction that do not count
  double minimum = 0;             // the rate is not reduced below it
};

// All that has to be saved.
struct PlateauState {
  std::optional<double> best;  // none before the first metric
  int bad = 0;                 // epochs without improvement
  int cooling = 0;             // epochs of cooldown that are left
  int reductions = 0;
};

// Takes in the metric of one more epoch; true when it brings a reduction. A metric that is NaN is no improvement.
bool observe(PlateauState& state, const PlateauOptions& options, double metric);

// `base` after so many reductions.
double reduced_rate(double base, const PlateauOptions& options, int reductions);

}  // namespace lockstep::optim

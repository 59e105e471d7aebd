// Learning rate schedules: values that are composed, and ask for nothing but the time.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include <lockstep/optim/plateau.h>

namespace lockstep::optim {

// What a rate depends on beside the time.
struct RateContext {
  double base = 1;     // the rate that a schedule starts from or climbs to, scaled for the ranks already
  double scale = 1;    // what the rate of a single rank was multiplied by to become it
  int reductions = 0;  // how often the plateau has lowered the rate
};

// The learning rate as a function of time, which is counted in epochs or in steps, from 0, fractions included. Cheap to
// copy. To resume a run is to ask for a later time.
class Schedule {
 public:
  using Curve = std::function<double(double time, const RateContext& context)>;

  // A schedule of your own. With a length, the rate stays what it is then, and another schedule can follow.
  explicit Schedule(Curve curve, std::optional<double> length = std::nullopt);

  double rate(double time, const RateContext& context) const { return curve_(time, context); }
  std::optional<double> length() const { return length_; }

  // The part that looks at a metric, if there is one, and when it begins to.
  const std::optional<PlateauOptions>& plateau() const { return plateau_; }
  double plateau_start() const { return plateau_start_; }

  // One after the other: `second` counts its time from the end of `first`, as in SequentialLR. Throws UsageError when
  // `first` has no end.
  friend Schedule operator+(const Schedule& first, const Schedule& second);

  // Both at once: `factor`, as a factor of the other's rate. So warm_up(...) * multi_step(...) warms up during the
  // first epochs of the other, whose milestones count from the start of the run. A plateau waits for the end of
  // `factor`.
  friend Schedule operator*(const Schedule& factor, const Schedule& schedule);

  friend Schedule plateau(const PlateauOptions& options);

 private:
  Curve curve_;
  std::optional<double> length_;
  std::optional<PlateauOptions> plateau_;
  double plateau_start_ = 0;
};

// The shapes, with the formulas of torch.optim.lr_scheduler (StepLR, MultiStepLR, ExponentialLR, PolynomialLR,
// CosineAnnealingLR, CosineAnnealingWarmRestarts, OneCycleLR, ReduceLROnPlateau, LinearLR). All throw UsageError for
// options that make no sense. A shape with a length keeps its last rate after it.

struct ConstantOptions {
  double factor = 1;
  std::optional<double> length = {};
};
Schedule constant(const ConstantOptions& options = {});

struct StepOptions {
  double every = 30;
  double factor = 0.1;
};
Schedule step(const StepOptions& options);

struct MultiStepOptions {
  std::vector<double> milestones;  // in any order
  double factor = 0.1;
};
Schedule multi_step(const MultiStepOptions& options);

struct ExponentialOptions {
  double factor = 0.95;  // of each epoch
};
Schedule exponential(const ExponentialOptions& options);

struct PolynomialOptions {
  double length = 0;
  double power = 1;
};
Schedule polynomial(const PolynomialOptions& options);

struct CosineOptions {
  double length = 0;
  double minimum = 0;
};
Schedule cosine(const CosineOptions& options);

// Falls as a cosine does and jumps back, again and again.
struct CosineRestartsOptions {
  double length = 0;  // of the first fall
  double growth = 1;  // each is so many times as long as the one before
  double minimum = 0;
};
Schedule cosine_restarts(const CosineRestartsOptions& options);

// Climbs from base / start_divisor to the base rate and falls to a start_divisor * end_divisor-th of it. As PyTorch
// counts, the last rate is reached one epoch (or step) before the length.
struct OneCycleOptions {
  double length = 0;
  double rise = 0.3;  // the part of the length that climbs
  double start_divisor = 25;
  double end_divisor = 1e4;
  bool linear = false;  // else as a cosine does
};
Schedule one_cycle(const OneCycleOptions& options);

Schedule plateau(const PlateauOptions& options);

// A straight line up to the base rate.
struct WarmUpOptions {
  double length = 0;
  // The part of the base rate to begin with. By itself: where ranks scaled the rate, that of a single rank; else a
  // third.
  std::optional<double> from = {};
};
Schedule warm_up(const WarmUpOptions& options);

}  // namespace lockstep::optim

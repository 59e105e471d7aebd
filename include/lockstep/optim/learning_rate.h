// A schedule in use: where the run stands, what the ranks make of the rate, what the metric did to it.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include <lockstep/optim/schedule.h>

namespace lockstep::optim {

// How the rate grows with the number of ranks, and so with the global batch.
enum class Scaling {
  kNone,
  kLinear,      // times the ranks
  kSquareRoot,  // times the square root of their number
};

// The scaling of the name none, linear or sqrt; UsageError for another.
Scaling parse_scaling(const std::string& name);

// What a single rank's rate is multiplied by.
double scale_of(Scaling scaling, int ranks);

// What a schedule's time counts.
enum class Clock {
  kEpochs,  // whole ones: the rate changes when an epoch begins, as with a scheduler that is called once an epoch
  kEpochFractions,  // epochs, but the rate changes in each step
  kSteps,
};

struct Position {
  std::int64_t step = 0;
  double epoch = 0;  // with its fraction: steps done / steps of an epoch
};

struct LearningRateOptions {
  double rate = 0.1;  // of a single rank
  int ranks = 1;
  Scaling scaling = Scaling::kNone;
  Clock clock = Clock::kEpochs;
};

// Says what the rate is now. The caller gives it to the optimizer:
//
//   for (auto& group : optimizer.param_groups()) group.options().set_lr(learning_rate.rate());
//
// Where a group has a rate of its own, the caller keeps it and gives the group rate(its_own) instead, because set_lr
// writes over it.
//
// Throws UsageError for a rate that is not above 0 and for less than one rank.
class LearningRate {
 public:
  LearningRate(Schedule schedule, const LearningRateOptions& options);

  void move_to(const Position& position) { position_ = position; }
  const Position& position() const { return position_; }

  double rate() const { return rate(options_.rate); }
  // For a group of parameters that has a rate of its own; `single_rank` is not scaled yet.
  double rate(double single_rank) const;

  // The metric of an epoch, before the move to the next. Only a plateau looks at it, and only after what comes before
  // it, such as a warm-up. True when the rate was lowered. All ranks must give the same number.
  bool observe(double metric);

  // What a checkpoint keeps: position and plateau, as named numbers. load_state() throws UsageError for a number that
  // is missing, unknown or impossible, and changes nothing then.
  std::map<std::string, double> state() const;
  void load_state(const std::map<std::string, double>& state);

  const Schedule& schedule() const { return schedule_; }

 private:
  double time() const;

  Schedule schedule_;
  LearningRateOptions options_;
  Position position_;
  PlateauState plateau_;
};

}  // namespace lockstep::optim

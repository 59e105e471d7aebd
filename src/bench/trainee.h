#pragma once
#include <memory>
#include <optional>

#include <lockstep/bench/step.h>

namespace lockstep::bench {

using Seconds = std::chrono::duration<double>;

// A model in training, one step at a time.
class Trainee {
 public:
  virtual ~Trainee() = default;
  virtual void step() = 0;

  // Of the communication, how much was hidden behind backward.
  virtual std::optional<double> hidden() const { return std::nullopt; }

  // Time in all steps so far that went by waiting for other ranks, and for data.
  virtual Seconds exposed() const { return {}; }
  virtual Seconds waited() const = 0;
};

// Collective.
std::unique_ptr<Trainee> make_trainee(Mode mode, const Group& group, const StepOptions& options);

}  // namespace lockstep::bench

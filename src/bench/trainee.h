#pragma once
#include <memory>
#include <optional>

#include <lockstep/bench/step.h>

namespace lockstep::bench {

// A model in training, one step at a time, always on the same batch.
class Trainee {
 public:
  virtual ~Trainee() = default;
  virtual void step() = 0;
  virtual std::optional<double> hidden() const { return std::nullopt; }
};

// Collective.
std::unique_ptr<Trainee> make_trainee(Mode mode, const Group& group, const StepOptions& options);

}  // namespace lockstep::bench

#pragma once
#include <memory>

#include <lockstep/bench/step.h>
#include <lockstep/train/step_trace.h>
#include <lockstep/train/training_step.h>

#include "batches.h"

namespace lockstep::bench {

using Seconds = std::chrono::duration<double>;

// A model in training, one step at a time.
class Trainee {
 public:
  // Collective.
  Trainee(train::Mode mode, const Group& group, const StepOptions& options);

  void step();

  // Collective. The timeline, where this one has any, once all its steps are done; they may still be ahead. Throws
  // RuntimeError if it cannot be written, on rank 0.
  std::optional<trace::Summary> finish_trace();

  // Numbers that the model learns.
  std::int64_t parameters() const;

  // Of the communication, how much was hidden behind backward.
  std::optional<double> hidden() const { return step_.hidden(); }

  // Time in all steps so far that went by waiting for other ranks, if that is known, and for data.
  std::optional<Seconds> exposed() const { return step_.exposed(); }
  Seconds waited() const { return batches_.waited(); }

 private:
  gpu::Ranges ranges_;
  std::shared_ptr<nn::Model> model_;
  train::TrainingStep step_;
  Batches batches_;
  at::Device device_;
  std::optional<StepRange> profiled_steps_;
  std::int64_t steps_ = 0;
  std::optional<gpu::ProfiledPart> profiled_;
  std::optional<trace::StepWindow> traced_steps_;
  std::optional<train::StepTrace> trace_;
};

}  // namespace lockstep::bench

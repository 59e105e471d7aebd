// What a training step consists of, for predictions.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/trace/recorder.h>

namespace lockstep::trace {

// Gradients that are reduced together.
struct ReadyBucket {
  std::int64_t bytes = 0;
  double ready = 0;  // milliseconds after backward began
};

// Of one rank, in milliseconds of the median step, without the time in which it waited for others.
struct Anatomy {
  double step = 0;
  double data = 0, forward = 0, backward = 0, update = 0;  // forward has the loss, update has zero_grad
  double jitter = 0;  // by how much a step differs from the median one: a standard deviation, as a part of it
  std::vector<ReadyBucket> buckets;

  // What is left; medians need not add up.
  double other() const { return std::max(0.0, step - data - forward - backward - update); }
};

// From the spans of a TrainingStep. Throws RuntimeError where no whole step is among them.
Anatomy anatomy_of(const Recording& recording);

nlohmann::ordered_json to_json(const Anatomy& anatomy);
// Throws UsageError for what the other has not made, and for numbers that make no sense.
Anatomy anatomy_from_json(const nlohmann::ordered_json& value);

}  // namespace lockstep::trace

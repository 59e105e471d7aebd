#include <lockstep/gpu/step_graph.h>

#include "driver.h"

namespace lockstep::gpu {

StepGraph::StepGraph(std::function<void()> step) : StepGraph(std::move(step), {}) {}

StepGraph::StepGraph(std::function<void()> step, Options options) : step_(std::move(step)), options_(options) {}

StepGraph::~StepGraph() = default;

void StepGraph::run() {
  if (recording_) return recording_->replay();
  if (calls_++ < options_.warm_ups) return step_();
  recording_ = driver().record(step_);
  recording_->replay();
}

}  // namespace lockstep::gpu

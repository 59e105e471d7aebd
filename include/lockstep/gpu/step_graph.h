// A training step as a CUDA graph: recorded once, then started by one call, whatever the number of kernels in it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

namespace lockstep::gpu {

// What a graph replays, on the stream on which it was recorded.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

// Runs `step` as it is for the first calls, so that algorithms are chosen, buckets planned and state made; then records
// it; from then on each call replays what was recorded. Each call is one step.
//
// A replay reads and writes the same memory each time. So a batch must be copied into the tensors that the step reads;
// gradients must be set to none in the step, or zeroed in place; the optimizer must keep its rates on the device
// (optim::DeviceStep); and the step must not look at values, which the recording refuses with an error. Collectives of
// NCCL are recorded too. Must run inside of a WorkStream, from the first step on.
class StepGraph {
 public:
  struct Options {
    int warm_ups = 3;  // calls before the recording
  };
  explicit StepGraph(std::function<void()> step);
  StepGraph(std::function<void()> step, Options options);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  // Throws what the step throws, and RuntimeError if it cannot be recorded.
  void run();
  bool recorded() const { return recording_ != nullptr; }

 private:
  std::function<void()> step_;
  Options options_;
  int calls_ = 0;
  std::unique_ptr<Recording> recording_;
};

}  // namespace lockstep::gpu

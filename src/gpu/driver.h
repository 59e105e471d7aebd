// What only CUDA's own libraries can do. The plugin `cuda` does it.
#pragma once
#include <functional>
#include <memory>

#include <lockstep/gpu/step_graph.h>

namespace lockstep::gpu {

class Driver {
 public:
  virtual ~Driver() = default;

  // Runs `work` in this thread while its stream records what it is given, and does none of it.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;

  // NVTX ranges of this thread, one inside the other. A registered name is what profilers can wait for.
  virtual void push_range(const char* name) = 0;
  virtual void push_registered_range(const char* name) = 0;
  virtual void pop_range() = 0;

  // Profilers that were told to wait for it (nsys --capture-range=cudaProfilerApi, ncu --profile-from-start off)
  // collect in between.
  virtual void start_profiler() = 0;
  virtual void stop_profiler() noexcept = 0;
};

// Loads the plugin. Throws UsageError if this installation has none, or it cannot be loaded here.
Driver& driver();

}  // namespace lockstep::gpu

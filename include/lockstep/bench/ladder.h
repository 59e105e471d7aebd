// The optimizations of a training step, one after another.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <lockstep/bench/step.h>

namespace lockstep::bench {

struct Rung {
  std::string name;
  Recipe recipe;
};

// On a GPU: fp32, TF32, AMP, channels-last, fused optimizer and autotuning, bf16, CUDA graph. On a CPU: fp32 by one
// thread, by all, channels-last, fused optimizer, fused engine, bf16. Each has all that those before it have, but for
// the types.
std::vector<Rung> ladder(at::DeviceType device);

struct RungRow {
  std::string name;
  StepRow step;
  double speedup = 1;            // over the first rung
  std::int64_t peak_memory = 0;  // of the GPU's, in bytes; 0 on a CPU
};

// Collective. Measures each rung in the first of options.modes, and shows each row when it is there. Of options.recipe
// only `threads` counts, for the rungs that have all of them.
std::vector<RungRow> measure_ladder(const Group& group, const StepOptions& options,
                                    const std::function<void(const RungRow&)>& show = {});

}  // namespace lockstep::bench

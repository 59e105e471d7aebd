#pragma once
#include <memory>
#include <vector>

#include <lockstep/gpu/settings.h>

#include "trainee.h"

namespace lockstep::bench {

// What a recipe says of the whole process holds as long as it lives. Memory that the fused engine keeps stays kept.
class RecipeGuard {
 public:
  explicit RecipeGuard(const Recipe& recipe);
  ~RecipeGuard();
  RecipeGuard(const RecipeGuard&) = delete;
  RecipeGuard& operator=(const RecipeGuard&) = delete;

 private:
  gpu::SettingsGuard settings_;
  int threads_before_;
  kernels::Engine engine_before_;
};

// Collective. A trainee that is past its first steps. `others` are dropped where it needs more memory than there is,
// before that is explained.
std::unique_ptr<Trainee> make_warm(train::Mode mode, const Group& group, const StepOptions& options,
                                   std::vector<std::unique_ptr<Trainee>>& others);

// Collective. Seconds of a step, the average of all ranks: where nobody waits for another, each goes at its own speed.
double time_steps(Trainee& trainee, const Group& group, const at::Device& device, std::int64_t steps);

}  // namespace lockstep::bench

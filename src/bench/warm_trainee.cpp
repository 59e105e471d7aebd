#include "warm_trainee.h"

#include <ATen/Parallel.h>

#include <lockstep/gpu/fitting_batch.h>
#include <lockstep/gpu/work_stream.h>
#include <lockstep/kernels/cpu_memory.h>

namespace lockstep::bench {
namespace {

constexpr int kWarmUps = 5;  // buckets are planned anew after the first step, and a graph is recorded after the third

using Clock = std::chrono::steady_clock;

}  // namespace

RecipeGuard::RecipeGuard(const Recipe& recipe)
    : settings_(recipe.settings), threads_before_(at::get_num_threads()), engine_before_(kernels::engine()) {
  if (recipe.threads > 0) at::set_num_threads(recipe.threads);
  kernels::set_engine(recipe.engine);
  if (recipe.engine == kernels::Engine::kFused) kernels::keep_cpu_memory();
}

RecipeGuard::~RecipeGuard() {
  kernels::set_engine(engine_before_);
  at::set_num_threads(threads_before_);
}

double time_steps(Trainee& trainee, const Group& group, const at::Device& device, std::int64_t steps) {
  gpu::finish(device);
  group.barrier();
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < steps; ++i) trainee.step();
  gpu::finish(device);
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  return group.all_reduce_value(elapsed.count(), Reduce::kAverage) / static_cast<double>(steps);
}

std::unique_ptr<Trainee> make_warm(train::Mode mode, const Group& group, const StepOptions& options,
                                   std::vector<std::unique_ptr<Trainee>>& others) {
  std::unique_ptr<Trainee> trainee;
  const auto begin = [&] {
    try {
      trainee = std::make_unique<Trainee>(mode, group, options);
      time_steps(*trainee, group, options.device, kWarmUps);
    } catch (const c10::OutOfMemoryError&) {
      trainee.reset();
      others.clear();
      throw;
    }
  };
  // The other ranks take no part in the estimate.
  const auto try_batch = [&](std::int64_t batch) {
    StepOptions smaller = options;
    smaller.batch = batch;
    smaller.recipe.graph = false;
    Trainee small(train::Mode::kNone, group, smaller);
    for (int i = 0; i < 2; ++i) small.step();
    gpu::finish(options.device);
  };
  gpu::explain_lack_of_memory(options.device, options.batch, begin, try_batch);
  return trainee;
}

}  // namespace lockstep::bench

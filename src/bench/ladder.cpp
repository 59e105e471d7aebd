#include <lockstep/bench/ladder.h>

#include <utility>

#include <lockstep/gpu/memory.h>

namespace lockstep::bench {
namespace {

// From a step as libtorch has it by itself, but for TF32.
constexpr gpu::Settings kPlain = {.tf32_matmul = false, .tf32_convolutions = false};
constexpr gpu::Settings kTf32 = {.tf32_matmul = true};
constexpr gpu::Settings kTuned = {.tf32_matmul = true, .autotune = true};

constexpr auto kReference = kernels::Engine::kReference;

std::vector<Rung> gpu_ladder() {
  const auto unfused = [](std::string precision, bool channels_last, const gpu::Settings& settings) -> Recipe {
    return {.precision = std::move(precision),
            .channels_last = channels_last,
            .fused_optimizer = false,
            .settings = settings,
            .engine = kReference};
  };
  return {
      {"fp32", unfused("fp32", false, kPlain)},
      {"tf32", unfused("fp32", false, kTf32)},
      {"amp fp16", unfused("fp16", false, kTf32)},
      {"+ channels-last", unfused("fp16", true, kTf32)},
      {"+ fused SGD, autotuning", {.precision = "fp16", .settings = kTuned, .engine = kReference}},
      {"bf16", {.precision = "bf16", .settings = kTuned, .engine = kReference}},
      {"+ CUDA graph", {.precision = "bf16", .graph = true, .settings = kTuned, .engine = kReference}},
      {"+ fused engine", {.precision = "bf16", .graph = true, .settings = kTuned}},
  };
}

std::vector<Rung> cpu_ladder() {
  return {
      {"fp32, 1 thread", {.channels_last = false, .fused_optimizer = false, .threads = 1, .engine = kReference}},
      {"all threads", {.channels_last = false, .fused_optimizer = false, .engine = kReference}},
      {"+ channels-last", {.fused_optimizer = false, .engine = kReference}},
      {"+ fused SGD", {.engine = kReference}},
      {"+ fused engine", {}},
      {"bf16", {.precision = "bf16"}},
  };
}

}  // namespace

std::vector<Rung> ladder(at::DeviceType device) {
  return device == at::kCPU ? cpu_ladder() : gpu_ladder();
}

std::vector<RungRow> measure_ladder(const Group& group, const StepOptions& options,
                                    const std::function<void(const RungRow&)>& show) {
  const bool has_memory = !options.device.is_cpu();
  std::vector<RungRow> rows;
  for (const Rung& rung : ladder(options.device.type())) {
    StepOptions step = options;
    step.recipe = rung.recipe;
    if (rung.recipe.threads == 0) step.recipe.threads = options.recipe.threads;
    step.modes.resize(1);
    if (has_memory) {
      gpu::release_unused_memory();
      gpu::reset_peak_memory(options.device);
    }
    RungRow row{.name = rung.name, .step = measure_step(group, step).front()};
    row.speedup = rows.empty() ? 1 : row.step.samples_per_second / rows.front().step.samples_per_second;
    if (has_memory) row.peak_memory = gpu::memory(options.device).peak;
    rows.push_back(row);
    if (show) show(row);
  }
  return rows;
}

}  // namespace lockstep::bench

#include <lockstep/gpu/settings.h>

#include <cstdlib>

#include <ATen/Context.h>

namespace lockstep::gpu {

Settings settings() {
  const auto& context = at::globalContext();
  return {.tf32_matmul = context.allowTF32CuBLAS(),
          .tf32_convolutions = context.allowTF32CuDNN(),
          .autotune = context.benchmarkCuDNN(),
          .deterministic = context.deterministicAlgorithms()};
}

void apply(const Settings& settings) {
  // cuBLAS is deterministic only with a workspace of its own, and libtorch refuses to compute without it.
  if (settings.deterministic) ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  auto& context = at::globalContext();
  context.setAllowTF32CuBLAS(settings.tf32_matmul);
  context.setAllowTF32CuDNN(settings.tf32_convolutions);
  context.setBenchmarkCuDNN(settings.autotune);
  context.setDeterministicCuDNN(settings.deterministic);
  context.setDeterministicAlgorithms(settings.deterministic, /*warn_only=*/false);
}

}  // namespace lockstep::gpu

// How kernels are started.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "launch.h"
#include "plan.h"

namespace lockstep::kernels::cuda {

// A kernel that start() starts does this before it looks at memory: until what was started before it on its stream has
// ended, and its results are in memory. Its blocks may take their places as soon as the last blocks before them leave.
__device__ inline void wait_for_earlier_work() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

struct Grid {
  std::int64_t blocks = 0;
  int threads = 0;
  std::int64_t shared_bytes = 0;
  bool at_once = false;  // all blocks run at the same time, or none does
};

template <typename Arguments>
cudaError_t start(void (*kernel)(Arguments), const Grid& grid, const Launch& launch, const Arguments& arguments) {
  // Always the same, since other threads may start the same kernel with another grid.
  const cudaError_t allowed =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.device.shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config{};
  if (launch.device.early_starts) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  if (grid.at_once) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  }
  config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  config.blockDim = dim3(static_cast<unsigned>(grid.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(grid.shared_bytes);
  config.stream = launch.stream;
  config.attrs = attributes;
  return cudaLaunchKernelEx(&config, kernel, arguments);
}

inline Together together(const Plan& plan, const Launch& launch) {
  return {plan.batch, plan.kept, launch.place};
}

template <typename Arguments>
cudaError_t launch_plan(void (*kernel)(Arguments), const Plan& plan, const Launch& launch, const Arguments& arguments) {
  return start(kernel, {plan.blocks(), kThreads, plan.shared_bytes, plan.batch.splits > 1}, launch, arguments);
}

// By the type of the values: body(T()) for float, __nv_bfloat16 or __half.
template <typename Body>
cudaError_t by_type(Number type, const Body& body) {
  switch (type) {
    case Number::kFloat:
      return body(float());
    case Number::kBFloat16:
      return body(__nv_bfloat16());
    case Number::kHalf:
      return body(__half());
  }
  return cudaErrorInvalidValue;
}

}  // namespace lockstep::kernels::cuda

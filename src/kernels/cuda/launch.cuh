// Starts the kernels whose blocks meet.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "launch.h"
#include "plan.h"

namespace lockstep::kernels::cuda {

inline Together together(const Plan& plan, const Launch& launch) {
  return {plan.batch, plan.meeting, plan.kept, launch.partials, launch.counters};
}

template <typename Arguments>
cudaError_t launch_plan(void (*kernel)(Arguments), const Plan& plan, const Launch& launch, const Arguments& arguments) {
  // Always the same, since other threads may start the same kernel with another plan.
  const cudaError_t allowed =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch.device.shared_bytes);
  if (allowed != cudaSuccess) return allowed;
  cudaLaunchAttribute attribute{};
  if (plan.meeting == Meeting::kCluster) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = static_cast<unsigned>(plan.batch.splits);
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  } else {
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(plan.blocks()));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = static_cast<std::size_t>(plan.shared_bytes);
  config.stream = launch.stream;
  config.attrs = &attribute;
  config.numAttrs = plan.meeting == Meeting::kAlone ? 0 : 1;
  return cudaLaunchKernelEx(&config, kernel, arguments);
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

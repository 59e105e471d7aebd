// NCCL, from the CUDA half of libtorch: the plugin `cuda`.
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <ATen/cuda/CUDAContext.h>

#include <lockstep/base/errors.h>

#include "../backend.h"

extern "C" __attribute__((visibility("default"))) void lockstep_make_backend(
    const lockstep::comm::BackendRequest& request, lockstep::comm::MadeBackend& made) {
  if (!at::cuda::is_available()) {
    throw lockstep::UsageError({.message = "the nccl backend needs a GPU, and there is none",
                                .next = "use another backend, or see lockstep info"});
  }
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = request.timeout;
  made = {c10::make_intrusive<c10d::ProcessGroupNCCL>(request.store, request.rank.rank, request.rank.size, options),
          c10d::ProcessGroup::BackendType::NCCL};
}

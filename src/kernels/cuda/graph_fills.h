// What is done to a recorded CUDA graph before it is made ready to run.
#pragma once
#include <cuda_runtime_api.h>

namespace lockstep::kernels::cuda {

// Lets kernels fill what the graph's memset nodes would: the engine that runs those hands over to the kernel behind it
// only after microseconds, and some of cuDNN's convolutions begin with such a node. What is larger than a mebibyte, or
// no row of whole words, stays as it is. Where there are no kernels nothing is done.
cudaError_t fill_by_kernels(cudaGraph_t graph);

}  // namespace lockstep::kernels::cuda

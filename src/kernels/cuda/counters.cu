#include "launch.h"

namespace lockstep::kernels::cuda {
namespace {

__device__ unsigned counters[kStreams][kMostChunks];

}  // namespace

cudaError_t counters_of_stream(unsigned** of_stream, int stream_number) {
  void* all = nullptr;
  const cudaError_t found = cudaGetSymbolAddress(&all, counters);
  *of_stream = static_cast<unsigned*>(all) + stream_number * kMostChunks;
  return found;
}

}  // namespace lockstep::kernels::cuda

// Copies the few places of pictures, and back among zeros. A thread has one vector of channels of one place.
#include "launch.cuh"

namespace lockstep::kernels::cuda {
namespace {

constexpr int kBlockThreads = 256;

struct Arguments {
  FewPlaces places;
  Divider vectors;  // of a place
  int count;        // of vectors that are written
  const uint4* from;
  uint4* to;
};

template <bool kGathers>
__global__ void __launch_bounds__(kBlockThreads) copy_kernel(const __grid_constant__ Arguments a) {
  const int own = static_cast<int>(blockIdx.x) * kBlockThreads + static_cast<int>(threadIdx.x);
  if (own >= a.count) return;
  const Quotient at = a.vectors(own);
  const int place = kGathers ? a.places.place_of(at.whole) : a.places.few_of(at.whole);
  const std::int64_t source = static_cast<std::int64_t>(place) * FewPlaces::number(a.vectors) + at.rest;
  a.to[own] = place < 0 ? uint4{} : a.from[source];
}

}  // namespace

cudaError_t launch_copy_few(const FewCopy& work, cudaStream_t stream) {
  const std::int64_t count = work.written * work.vectors;
  const auto blocks = static_cast<unsigned>((count + kBlockThreads - 1) / kBlockThreads);
  const Arguments arguments{work.places, Divider(work.vectors), static_cast<int>(count),
                            static_cast<const uint4*>(work.from), static_cast<uint4*>(work.to)};
  if (work.gathers) {
    copy_kernel<true><<<blocks, kBlockThreads, 0, stream>>>(arguments);
  } else {
    copy_kernel<false><<<blocks, kBlockThreads, 0, stream>>>(arguments);
  }
  return cudaGetLastError();
}

}  // namespace lockstep::kernels::cuda

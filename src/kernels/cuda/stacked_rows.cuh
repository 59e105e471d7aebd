// Rows of small pictures in shared memory: of as many pictures as make 128 places. These lie on top of one another: for
// each column a stack of places, one of each picture. So the window's next column begins one stack further on, and for
// what lies on both sides of the pictures there is a stack of zeros before and behind each row.
#pragma once
#include "bulk_copy.cuh"
#include "launch.cuh"
#include "matrix_map.h"
#include "warpgroup.cuh"

namespace lockstep::kernels::cuda {

constexpr int kRowPlaces = 128;
constexpr int kPlaceChunks = kSwizzledBytes / kVectorBytes;  // of 64 channels
constexpr int kRowChunks = kRowPlaces * kPlaceChunks, kRowBytes = kRowChunks * kVectorBytes;

template <int kItsPictures>
struct StackedRows {
  static constexpr int kPictures = kItsPictures;
  static constexpr int kStackChunks = kPictures * kPlaceChunks;
  static constexpr int kStep = kRowChunks + kStackChunks;  // from one row to the next one
  // Of so many rows, with a stack before the first one; that row begins behind it.
  static constexpr int chunks_for(int rows) { return rows * kStep + kStackChunks; }

  // All threads of a block, before they meet.
  __device__ static void clear_stacks(uint4* all, int rows) {
    const int threads = static_cast<int>(blockDim.x);
    for (int i = static_cast<int>(threadIdx.x); i < (rows + 1) * kStackChunks; i += threads) {
      all[i / kStackChunks * kStep + i % kStackChunks] = {};
    }
    show_to_tensor_cores();
  }
};

inline int pictures_of_stack(int width) {
  return kRowPlaces / width;
}
inline int stacks_of(int samples, int width) {
  return (samples + pictures_of_stack(width) - 1) / pictures_of_stack(width);
}

// Calls body(StackedRows<...>()) with those of pictures of that width.
template <typename Body>
cudaError_t by_stack(int width, const Body& body) {
  switch (pictures_of_stack(width)) {
    case 8:
      return body(StackedRows<8>());
    case 16:
      return body(StackedRows<16>());
    case 32:
      return body(StackedRows<32>());
    default:
      return cudaErrorInvalidValue;
  }
}

// Where in a ring of slots somebody is.
template <int kSlots>
struct Ring {
  int slot = 0;
  unsigned is_odd = 0;
  __device__ void advance(int by = 1) {
    slot += by;
    if (slot < kSlots) return;
    slot -= kSlots;
    is_odd ^= 1;
  }
  __device__ Ring after(int by) const {
    Ring ring = *this;
    ring.advance(by);
    return ring;
  }
};

}  // namespace lockstep::kernels::cuda

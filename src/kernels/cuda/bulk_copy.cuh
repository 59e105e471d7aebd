// Copies of whole tiles of a matrix, or of pictures, between the device's memory and shared memory, by the engine that
// compute capability 9.0 has for it: one thread starts a copy, and barriers in shared memory, or groups of copies, tell
// when it is done.
#pragma once
#include <cuda.h>

#include <cstdint>

namespace lockstep::kernels::cuda {

// Counts copies that have been announced and have not arrived. Its phases follow one another: of each, copies are
// announced as often as threads have to arrive.
using CopyBarrier = std::uint64_t;

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ inline void make_barrier(CopyBarrier* barrier, int threads = 1) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(threads) : "memory");
}
// All barriers that this thread has made, to the copies.
__device__ inline void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void announce(CopyBarrier* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
// Without copies.
__device__ inline void arrive(CopyBarrier* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
// Until the copies of a phase have arrived: of the first one, the third one and so on if `is_odd` is 0.
__device__ inline void wait_for(const CopyBarrier* barrier, unsigned is_odd) {
  unsigned done = 0;
  do {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
        "selp.u32 %0, 1, 0, done;\n"
        "}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(is_odd)
        : "memory");
  } while (done == 0);
}

// The tile that begins there. Beyond the matrix there are zeros.
__device__ inline void load_tile(uint4* to, const CUtensorMap& matrix, int column, int row, CopyBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          shared_address(to)),
      "l"(&matrix), "r"(column), "r"(row), "r"(shared_address(barrier))
      : "memory");
}
// The same of pictures whose channels lie side by side: the tile begins at that channel of that place.
struct PicturePlace {
  int picture, row, column, channel;
};
__device__ inline void load_tile(uint4* to, const CUtensorMap& pictures, const PicturePlace& place,
                                 CopyBarrier* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(shared_address(to)),
      "l"(&pictures), "r"(place.channel), "r"(place.column), "r"(place.row), "r"(place.picture),
      "r"(shared_address(barrier))
      : "memory");
}
// A row of pictures that lie on top of one another.
struct StackedRow {
  int picture, row, channel;
};
__device__ inline void load_row(uint4* to, const CUtensorMap& pictures, const StackedRow& from, CopyBarrier* barrier) {
  load_tile(to, pictures, {from.row, 0, from.picture, from.channel}, barrier);
}
// What of it is in the matrix. Each store is a group of its own.
__device__ inline void store_tile(const CUtensorMap& matrix, int column, int row, const uint4* from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&matrix),
               "r"(column), "r"(row), "r"(shared_address(from))
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ inline void store_tile(const CUtensorMap& pictures, const PicturePlace& place, const uint4* from) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(&pictures),
               "r"(place.channel), "r"(place.column), "r"(place.row), "r"(place.picture), "r"(shared_address(from))
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ inline void store_row(const CUtensorMap& pictures, const StackedRow& to, const uint4* from) {
  store_tile(pictures, {to.row, 0, to.picture, to.channel}, from);
}
// Until all stores of this thread but the last `kPending` have read what they store.
template <int kPending>
__device__ inline void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

}  // namespace lockstep::kernels::cuda

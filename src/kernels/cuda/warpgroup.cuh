// Products by the tensor cores of compute capability 9.0, which four warps start together and which take both matrices
// from shared memory.
#pragma once
#include <cuda_bf16.h>

#include <cstdint>

#include "product_instructions.cuh"

namespace lockstep::kernels::cuda {

// In shared memory a matrix has rows of 128 bytes, whose chunks of 16 lie in an order that depends on the row. Eight
// rows are a group, and begin at a multiple of 1024 bytes.
constexpr int kSwizzledBytes = 128;
__device__ inline int swizzled(int row, int chunk) {
  return row * (kSwizzledBytes / 16) + (chunk ^ (row & 7));
}

// How the tensor cores are told of a matrix: where it begins, and that a group of eight rows follows the other.
// `block_bytes` is only for a transposed matrix that is wider than a row: from one block of such rows to the next one.
// Rows can also have 64 bytes, in an order that depends on every second one.
template <int kRowBytes = kSwizzledBytes>
__device__ std::uint64_t matrix_at(const uint4* begin, int block_bytes = 16) {
  static_assert(kRowBytes == 128 || kRowBytes == 64);
  constexpr std::uint64_t kGroupBytes = 8 * kRowBytes, kSwizzle = kRowBytes == 128 ? 1 : 2;
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(begin));
  return (address & 0x3ffffU) >> 4 | static_cast<std::uint64_t>(block_bytes) >> 4 << 16 | kGroupBytes >> 4 << 32 |
         kSwizzle << 62;
}

// Of a block whose groups of four warps need different numbers of registers: each group calls one of these.
template <int kRegisters>
__device__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// What this thread has written into shared memory, the tensor cores see after the next barrier.
__device__ inline void show_to_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// The compiler must not move what it does to `d` to the other side of this.
template <int kRegisters>
__device__ void hold(float (&d)[kRegisters]) {
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
// Products are added to `d` between begin_products() and end_products(), or, in several groups, wait_for_products() and
// hold().
template <int kRegisters>
__device__ void begin_products(float (&d)[kRegisters]) {
  hold(d);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void close_group_of_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Until all groups but the last `kPending` have read their matrices, and `d` has all of them.
template <int kPending>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
template <int kRegisters>
__device__ void end_products(float (&d)[kRegisters]) {
  close_group_of_products();
  wait_for_products<0>();
  hold(d);
}

// 64 rows of 16 values times kColumns columns of 16 values, both side by side; transposed, the first matrix has 16 rows
// of 64 values, and the second 16 rows of kColumns values. A thread has the same values of `d` that it would have of
// instructions of eight columns.
template <int kColumns, bool kSecondTransposed, bool kFirstTransposed = false>
__device__ void add_product(float (&d)[kColumns / 2], std::uint64_t a, std::uint64_t b) {
  Product<kColumns>::template add<kFirstTransposed, kSecondTransposed>(d, a, b);
}

// Four matrices of 8 x 8 values from shared memory, transposed, and back. Each lane gives the address of one of their
// rows there.
__device__ inline void load_transposed(unsigned (&to)[4], const uint4* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
}
__device__ inline void store_transposed(uint4* row, const unsigned (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(row))),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

// 16 rows of 16 values, all of which are those in `a`, times eight columns of two such matrices.
__device__ inline void add_small_product(float (&d)[4], unsigned a, unsigned first, unsigned second) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %6}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a), "r"(first), "r"(second));
}

}  // namespace lockstep::kernels::cuda

// Memory of the CPU's tensors that stays with the process.
#pragma once
#include <cstdint>

namespace lockstep::kernels {

// libtorch gives the memory of large tensors back to the kernel and asks for it anew, so that each step of training
// waits for fresh pages. From this call on, tensors of 64 KiB and more come from memory that the process keeps; smaller
// ones come from where they came before. Any thread may call it, also twice. Nothing happens where the addresses of the
// process are limited (ulimit -v).
//
// `lockstep train` and `lockstep bench step` call it with the engine `fused`; a program of your own calls it before it
// makes its model.
void keep_cpu_memory();

// Gives back to the kernel what no tensor has. It happens by itself when there is no memory for a tensor.
void release_cached_memory();

// In bytes, without tensors below 64 KiB.
struct CpuMemoryStatistics {
  std::int64_t in_use = 0;  // by tensors
  std::int64_t kept = 0;    // for the next ones
  std::int64_t hits = 0;    // tensors that got kept memory
  std::int64_t misses = 0;  // tensors that got fresh pages
};
CpuMemoryStatistics cpu_memory_statistics();

}  // namespace lockstep::kernels

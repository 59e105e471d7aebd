#pragma once
#include <lockstep/base/cpu.h>

namespace lockstep::kernels {

// Which of a kernel's two tables this CPU takes; nullptr where it has not even AVX2.
template <typename Table>
const Table* best_of(const Table& avx2, const Table& avx512) {
  static const auto level = cpu::kernel_level();
  if (level == cpu::KernelLevel::kAvx512) return &avx512;
  return level == cpu::KernelLevel::kAvx2 ? &avx2 : nullptr;
}

}  // namespace lockstep::kernels

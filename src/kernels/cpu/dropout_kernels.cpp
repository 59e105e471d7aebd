#include "dropout_kernels.h"

#include <lockstep/base/cpu.h>

namespace lockstep::kernels {

const DropoutKernels* dropout_kernels() {
  static const cpu::KernelLevel level = cpu::kernel_level();
  switch (level) {
    case cpu::KernelLevel::kAvx512:
      return &kDropoutKernelsAvx512;
    case cpu::KernelLevel::kAvx2:
      return &kDropoutKernelsAvx2;
    case cpu::KernelLevel::kBase:
      break;
  }
  return nullptr;
}

}  // namespace lockstep::kernels

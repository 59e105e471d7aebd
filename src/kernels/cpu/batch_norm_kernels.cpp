#include "batch_norm_kernels.h"

#include <lockstep/base/cpu.h>

namespace lockstep::kernels {

const BatchNormKernels* batch_norm_kernels() {
  static const cpu::KernelLevel level = cpu::kernel_level();
  switch (level) {
    case cpu::KernelLevel::kAvx512:
      return &kBatchNormKernelsAvx512;
    case cpu::KernelLevel::kAvx2:
      return &kBatchNormKernelsAvx2;
    case cpu::KernelLevel::kBase:
      break;
  }
  return nullptr;
}

}  // namespace lockstep::kernels

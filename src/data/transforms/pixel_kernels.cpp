#include "pixel_kernels.h"

#include <lockstep/base/cpu.h>

namespace lockstep::data {

const PixelKernels& pixel_kernels() {
  static const cpu::KernelLevel level = cpu::kernel_level();
  switch (level) {
    case cpu::KernelLevel::kAvx512:
      return kPixelKernelsAvx512;
    case cpu::KernelLevel::kAvx2:
      return kPixelKernelsAvx2;
    case cpu::KernelLevel::kBase:
      break;
  }
  return kPixelKernelsBase;
}

}  // namespace lockstep::data

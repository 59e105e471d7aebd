#include "dropout_kernels.h"

#include "levels.h"

namespace lockstep::kernels {

const DropoutKernels* dropout_kernels() {
  return best_of(kDropoutKernelsAvx2, kDropoutKernelsAvx512);
}

}  // namespace lockstep::kernels

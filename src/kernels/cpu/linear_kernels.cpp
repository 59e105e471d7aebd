#include "linear_kernels.h"

#include "levels.h"

namespace lockstep::kernels {

const LinearKernels* linear_kernels() {
  return best_of(kLinearKernelsAvx2, kLinearKernelsAvx512);
}

}  // namespace lockstep::kernels

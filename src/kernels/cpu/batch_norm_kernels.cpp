#include "batch_norm_kernels.h"

#include "levels.h"

namespace lockstep::kernels {

const BatchNormKernels* batch_norm_kernels() {
  return best_of(kBatchNormKernelsAvx2, kBatchNormKernelsAvx512);
}

}  // namespace lockstep::kernels

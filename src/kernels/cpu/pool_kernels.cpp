#include "pool_kernels.h"

#include "levels.h"

namespace lockstep::kernels {

const PoolKernels* pool_kernels() {
  return best_of(kPoolKernelsAvx2, kPoolKernelsAvx512);
}

}  // namespace lockstep::kernels

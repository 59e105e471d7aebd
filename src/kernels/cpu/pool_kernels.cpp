#include "pool_kernels.h"

#include "levels.h"

namespace lockstep::kernels {

const PoolLevel* pool_level() {
  return best_of(kPoolAvx2, kPoolAvx512);
}

}  // namespace lockstep::kernels

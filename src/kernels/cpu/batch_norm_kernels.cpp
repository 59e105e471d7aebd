#include "batch_norm_kernels.h"

#include "levels.h"

namespace lockstep::kernels {

const BatchNormLevel* batch_norm_level() {
  return best_of(kBatchNormAvx2, kBatchNormAvx512);
}

}  // namespace lockstep::kernels

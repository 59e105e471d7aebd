#include "dropout_kernels.h"

#include "levels.h"

namespace lockstep::kernels {

const DropoutLevel* dropout_level() {
  return best_of(kDropoutAvx2, kDropoutAvx512);
}

}  // namespace lockstep::kernels

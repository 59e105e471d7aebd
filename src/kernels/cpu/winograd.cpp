#include "winograd.h"

#include "levels.h"

namespace lockstep::kernels::cpu {

const Winograd* winograd() {
  return best_of(kWinogradAvx2, kWinogradAvx512);
}

}  // namespace lockstep::kernels::cpu

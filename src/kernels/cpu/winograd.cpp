#include "winograd.h"

#include "levels.h"

namespace lockstep::kernels {

const Winograd* winograd() {
  return best_of(kWinogradAvx2, kWinogradAvx512);
}

}  // namespace lockstep::kernels

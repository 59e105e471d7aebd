#include "products.h"

#include "levels.h"

namespace lockstep::kernels {

const Products* products() {
  return best_of(kProductsAvx2, kProductsAvx512);
}

}  // namespace lockstep::kernels

#include <lockstep/kernels/dropout.h>

#include <ATen/ops/dropout.h>

#include <lockstep/kernels/engine.h>

#include "cpu/dropout.h"

namespace lockstep::kernels {

at::Tensor dropout(const at::Tensor& input, double probability) {
  if (engine() == Engine::kFused && can_fused_dropout(input, probability)) return fused_dropout(input, probability);
  return at::dropout(input, probability, /*train=*/true);
}

}  // namespace lockstep::kernels

#include <lockstep/kernels/bias_act.h>

#include <ATen/ops/relu.h>

#include <lockstep/kernels/engine.h>

#include "bias.h"
#include "cuda/bias_act.h"

namespace lockstep::kernels {

bool can_bias_act(const at::Tensor& bias) {
  return engine() == Engine::kFused && can_cuda_bias(bias);
}

at::Tensor bias_act(at::Tensor input, const at::Tensor& bias, bool relu) {
  if (can_bias_act(bias) && can_cuda_bias_act(input, bias)) return cuda_bias_act(std::move(input), bias, relu);
  input.add_(bias_for(input, bias));
  return relu ? at::relu_(input) : input;
}

}  // namespace lockstep::kernels

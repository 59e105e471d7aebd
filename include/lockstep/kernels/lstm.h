// A layer of an LSTM on the CPU.
#pragma once
#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

// As torch::nn::LSTM names them: of the input, of the output of the step before, and the biases of both.
struct LstmWeights {
  at::Tensor input, hidden;
  at::Tensor input_bias, hidden_bias;
};

// Whether lstm_layer() takes these: float32 on a CPU with AVX2, features and cells in multiples of 32,
// biases, no autocast.
bool can_lstm_layer(const at::Tensor& input, const LstmWeights& weights);

// The outputs of all steps of a layer that starts from zeros, for inputs [step][sample][feature]; differentiable once.
at::Tensor lstm_layer(const at::Tensor& input, const LstmWeights& weights);

}  // namespace lockstep::kernels

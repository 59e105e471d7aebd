#pragma once
#include <torch/nn/modules/rnn.h>

namespace lockstep::nn {

// The outputs of the last layer, [sample][step][cell], for an LSTM whose inputs are [sample][step][feature] and that
// starts from zeros; by the engine that is set.
at::Tensor lstm_outputs(torch::nn::LSTMImpl& lstm, const at::Tensor& input);

}  // namespace lockstep::nn

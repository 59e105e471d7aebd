#include "lstm_outputs.h"

#include <ATen/autocast_mode.h>
#include <fmt/format.h>

#include <lockstep/amp/autocast.h>
#include <lockstep/base/cpu.h>
#include <lockstep/kernels/engine.h>
#include <lockstep/kernels/lstm.h>

namespace lockstep::nn {
namespace {

bool is_plain(const torch::nn::LSTMOptions& options, bool training) {
  return options.batch_first() && options.bias() && !options.bidirectional() && options.proj_size() == 0 &&
         (options.dropout() == 0 || !training);
}

kernels::LstmWeights weights_of(const torch::nn::LSTMImpl& lstm, std::int64_t layer) {
  const auto parameters = lstm.named_parameters(/*recurse=*/false);
  const auto named = [&](const char* name) { return parameters[fmt::format("{}_l{}", name, layer)]; };
  return {.input = named("weight_ih"),
          .hidden = named("weight_hh"),
          .input_bias = named("bias_ih"),
          .hidden_bias = named("bias_hh")};
}

}  // namespace

at::Tensor lstm_outputs(torch::nn::LSTMImpl& lstm, const at::Tensor& input) {
  // oneDNN, which libtorch asks then, has no LSTM of 16 bits for CPUs below AVX-512.
  if (input.is_cpu() && at::autocast::is_autocast_enabled(at::kCPU) &&
      cpu::kernel_level() != cpu::KernelLevel::kAvx512) {
    const amp::Autocast nothing_is_cast(at::kCPU, std::nullopt);
    return lstm_outputs(lstm, input.to(at::kFloat));
  }
  if (kernels::engine() != kernels::Engine::kFused || !is_plain(lstm.options, lstm.is_training()) || input.dim() != 3) {
    return std::get<0>(lstm.forward(input));
  }
  at::Tensor output = input.transpose(0, 1);
  for (std::int64_t layer = 0; layer < lstm.options.num_layers(); ++layer) {
    const kernels::LstmWeights weights = weights_of(lstm, layer);
    if (!kernels::can_lstm_layer(output, weights)) return std::get<0>(lstm.forward(input));
    output = kernels::lstm_layer(output, weights);
  }
  return output.transpose(0, 1);
}

}  // namespace lockstep::nn

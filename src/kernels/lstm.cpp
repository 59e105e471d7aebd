#include <lockstep/kernels/lstm.h>

#include <numeric>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cpu/channels_last.h"
#include "cpu/lstm_cell.h"
#include "cpu/matrices.h"
#include "cpu/plain_forward.h"
#include "cpu/row_gap.h"
#include "cpu/single_derivative.h"
#include "parallel.h"
#include "recorded.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kCells = 32;  // that a thread takes at once: a panel of either level, or two

// A layer's sizes, and its parts of the tensors that a forward pass leaves for the backward one: [step][sample][...].
struct Layer {
  std::int64_t steps, samples, hidden;
  float *gates, *cells, *cell_tanhs, *outputs;
  const float* bias = nullptr;  // of the gates' sums

  std::int64_t row(std::int64_t step, std::int64_t sample) const { return step * samples + sample; }
};

// Some cells of some samples.
struct Part {
  std::int64_t first_sample, end_sample, first_cell;

  std::int64_t samples() const { return end_sample - first_sample; }
};

// Has what a part needs of a row brought from memory while something else is computed.
void ask_for(const float* cells) {
  constexpr std::int64_t kLine = 16;
  for (std::int64_t i = 0; i < kCells; i += kLine) __builtin_prefetch(cells + i, 0, 2);
}

// One step's outputs of a part: what comes from the step before is added to the gates, then the cells are computed.
void forward_part(const Layer& layer, const PackedMatrix& weights, std::int64_t step, const Part& part) {
  const std::int64_t hidden = layer.hidden;
  if (step > 0) {
    std::vector<const float*> before;
    std::vector<float*> gates;
    for (std::int64_t sample = part.first_sample; sample < part.end_sample; ++sample) {
      before.push_back(layer.outputs + layer.row(step - 1, sample) * hidden);
      gates.push_back(layer.gates + layer.row(step, sample) * 4 * hidden);
    }
    for (std::int64_t gate = 0; gate < 4; ++gate) {
      const std::int64_t first = gate * hidden + part.first_cell;
      for (std::int64_t column = first; column < first + kCells; column += weights.panel) {
        products()->multiply_rows({.a = before.data(),
                                   .rows = part.samples(),
                                   .depth = hidden,
                                   .b = weights.at(column / weights.panel, 0),
                                   .c = gates.data(),
                                   .column = column,
                                   .columns = weights.panel,
                                   .accumulate = true});
      }
    }
  }
  for (std::int64_t sample = part.first_sample; sample < part.end_sample; ++sample) {
    const std::int64_t row = layer.row(step, sample);
    lstm_cells()->forward({.gates = layer.gates + row * 4 * hidden,
                           .bias = layer.bias,
                           .hidden = hidden,
                           .cell_before = step > 0 ? layer.cells + (row - layer.samples) * hidden : nullptr,
                           .cell = layer.cells + row * hidden,
                           .cell_tanh = layer.cell_tanhs + row * hidden,
                           .output = layer.outputs + row * hidden},
                          part.first_cell, kCells);
  }
}

// What a backward pass works on, beside the layer itself.
struct Gradients {
  const float* outputs;
  float* gates;  // of all steps
  std::int64_t gates_stride;
  float *cells, *next;  // [sample][cell]: of the step in hand; of the outputs, by the step after it
};

// One step's gradients of a part, once those of the step after it are there.
void backward_part(const Layer& layer, const Gradients& gradients, const PackedMatrix& weights, std::int64_t step,
                   const Part& part) {
  const std::int64_t hidden = layer.hidden;
  const bool is_last = step + 1 == layer.steps;
  if (!is_last) {
    std::vector<float*> to;
    for (std::int64_t sample = part.first_sample; sample < part.end_sample; ++sample) {
      to.push_back(gradients.next + sample * hidden);
    }
    // Gate by gate, so that what is read again and again stays in a core's caches. What the cells need meanwhile comes
    // from memory.
    const std::int64_t before = std::max<std::int64_t>(step - 1, 0);
    for (std::int64_t gate = 0; gate < 4; ++gate) {
      std::vector<const float*> from;
      for (std::int64_t sample = part.first_sample; sample < part.end_sample; ++sample) {
        from.push_back(gradients.gates + layer.row(step + 1, sample) * gradients.gates_stride + gate * hidden);
        const std::int64_t row = layer.row(step, sample);
        ask_for(layer.gates + (4 * row + gate) * hidden + part.first_cell);
        ask_for(gradients.gates + row * gradients.gates_stride + gate * hidden + part.first_cell);
        if (gate == 0) ask_for(layer.cells + layer.row(before, sample) * hidden + part.first_cell);
        if (gate == 1) ask_for(layer.cell_tanhs + row * hidden + part.first_cell);
        if (gate == 2) ask_for(gradients.outputs + row * hidden + part.first_cell);
      }
      for (std::int64_t column = part.first_cell; column < part.first_cell + kCells; column += weights.panel) {
        products()->multiply_rows({.a = from.data(),
                                   .rows = part.samples(),
                                   .depth = hidden,
                                   .b = weights.at(column / weights.panel, 0) + gate * hidden * weights.panel,
                                   .c = to.data(),
                                   .column = column,
                                   .columns = weights.panel,
                                   .accumulate = gate > 0});
      }
    }
  }
  for (std::int64_t sample = part.first_sample; sample < part.end_sample; ++sample) {
    const std::int64_t row = layer.row(step, sample);
    lstm_cells()->backward({.gates = layer.gates + row * 4 * hidden,
                            .hidden = hidden,
                            .cell_before = step > 0 ? layer.cells + (row - layer.samples) * hidden : nullptr,
                            .cell_tanh = layer.cell_tanhs + row * hidden,
                            .output_gradient = gradients.outputs + row * hidden,
                            .next_gradient = is_last ? nullptr : gradients.next + sample * hidden,
                            .cell_gradient = gradients.cells + sample * hidden,
                            .gate_gradients = gradients.gates + row * gradients.gates_stride},
                           part.first_cell, kCells);
  }
}

// Calls run(step, part) for all parts of each step, in the order of `order`. Samples know nothing of one another, so
// threads that have enough of them never wait for the others; where samples are few, a step's cells are shared.
template <typename Run>
void for_steps(const Layer& layer, const std::vector<std::int64_t>& order, Run run) {
  const std::int64_t threads = at::get_num_threads();
  if (layer.samples >= threads * products()->row_tile) {
    parallel_for(0, layer.samples, products()->row_tile, [&](std::int64_t begin, std::int64_t end) {
      for (const std::int64_t step : order) {
        for (std::int64_t cell = 0; cell < layer.hidden; cell += kCells) run(step, Part{begin, end, cell});
      }
    });
    return;
  }
  for (const std::int64_t step : order) {
    parallel_for(0, layer.hidden / kCells, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) run(step, Part{0, layer.samples, i * kCells});
    });
  }
}

// Of the products with the weights of inputs or with those between steps, of which the first step has none.
double input_flop(const Layer& layer, const at::Tensor& weight) {
  return 2.0 * static_cast<double>(layer.steps * layer.samples * weight.numel());
}
double hidden_flop(const Layer& layer, const at::Tensor& weight) {
  return 2.0 * static_cast<double>((layer.steps - 1) * layer.samples * weight.numel());
}

class LstmLayer : public torch::autograd::Function<LstmLayer> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& any_input, const at::Tensor& input_weight,
                            const at::Tensor& hidden_weight, const at::Tensor& input_bias,
                            const at::Tensor& hidden_bias) {
    const at::Tensor input = any_input.contiguous();
    const std::int64_t steps = input.size(0), samples = input.size(1), hidden = hidden_weight.size(1);
    // The sums of all steps' inputs in one product; what steps give to one another is added as they come.
    const auto options = input.options();
    const at::Tensor gates = at::empty({steps * samples, 4 * hidden}, options);
    const at::Tensor cells = at::empty({steps * samples, hidden}, options), cell_tanhs = at::empty_like(cells);
    at::Tensor output = at::empty({steps, samples, hidden}, options);
    Layer layer = layer_of(output, gates, cells, cell_tanhs);
    const Recorded recorded(
        "lockstep::lstm", {.flop = input_flop(layer, input_weight) + hidden_flop(layer, hidden_weight),
                           .bytes = bytes_of({input, input_weight, hidden_weight, gates, cells, cell_tanhs, output})});
    const at::Tensor flat = input.view({steps * samples, -1});
    multiply(view(flat), packed_transposed(input_weight), writable(gates), /*accumulate=*/false);
    const at::Tensor bias = input_bias + hidden_bias;
    layer.bias = bias.const_data_ptr<float>();
    const PackedMatrix weights = packed_transposed(hidden_weight);
    std::vector<std::int64_t> order(static_cast<std::size_t>(steps));
    std::iota(order.begin(), order.end(), 0);
    for_steps(layer, order, [&](std::int64_t step, const Part& part) { forward_part(layer, weights, step, part); });
    context->save_for_backward({flat, input_weight, hidden_weight, output, gates, cells, cell_tanhs});
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& incoming) {
    require_single_derivative("LSTM");
    const auto saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &input_weight = saved[1], &hidden_weight = saved[2], &output = saved[3];
    const Layer layer = layer_of(output, saved[4], saved[5], saved[6]);
    const at::Tensor output_gradient = incoming[0].contiguous();
    const at::Tensor gates = empty_rows_with_gap(layer.steps * layer.samples, 4 * layer.hidden, input.options());
    const Recorded recorded("lockstep::lstm_backward", work_of_backward(context, layer, saved));
    const at::Tensor of_cells = at::zeros({layer.samples, layer.hidden}, input.options());
    const at::Tensor next = at::empty_like(of_cells);
    const Gradients gradients{.outputs = output_gradient.const_data_ptr<float>(),
                              .gates = gates.mutable_data_ptr<float>(),
                              .gates_stride = gates.stride(0),
                              .cells = of_cells.mutable_data_ptr<float>(),
                              .next = next.mutable_data_ptr<float>()};
    const PackedMatrix weights = packed(hidden_weight);
    std::vector<std::int64_t> order(static_cast<std::size_t>(layer.steps));
    std::iota(order.rbegin(), order.rend(), 0);
    for_steps(layer, order,
              [&](std::int64_t step, const Part& part) { backward_part(layer, gradients, weights, step, part); });
    variable_list results(5);
    if (context->needs_input_grad(0)) {
      results[0] = at::empty({layer.steps, layer.samples, input.size(1)}, input.options());
      multiply(view(gates), packed(input_weight), writable(results[0].view(input.sizes())),
               /*accumulate=*/false);
    }
    if (context->needs_input_grad(1)) {
      results[1] = at::empty(input_weight.sizes(), input.options());
      multiply_transposed(view(gates), view(input), writable(results[1]));
    }
    if (context->needs_input_grad(2)) {
      // The first step has nothing before it.
      const std::int64_t rows = (layer.steps - 1) * layer.samples;
      results[2] = at::empty(hidden_weight.sizes(), input.options());
      multiply_transposed(view(gates.slice(0, layer.samples)), view(output.view({-1, layer.hidden}).slice(0, 0, rows)),
                          writable(results[2]));
    }
    if (context->needs_input_grad(3) || context->needs_input_grad(4)) {
      results[3] = column_sums(view(gates));
      results[4] = results[3];
    }
    return results;
  }

 private:
  static Work work_of_backward(const AutogradContext* context, const Layer& layer, const variable_list& saved) {
    const at::Tensor &input = saved[0], &input_weight = saved[1], &hidden_weight = saved[2], &output = saved[3];
    const int inputs = (context->needs_input_grad(0) ? 1 : 0) + (context->needs_input_grad(1) ? 1 : 0);
    const int hiddens = context->needs_input_grad(2) ? 2 : 1;
    const at::Tensor &gates = saved[4], &cells = saved[5], &cell_tanhs = saved[6];
    return {.flop = inputs * input_flop(layer, input_weight) + hiddens * hidden_flop(layer, hidden_weight),
            .bytes = inputs * bytes_of({input, input_weight}) + hiddens * bytes_of({hidden_weight}) +
                     2 * bytes_of({gates, output}) + bytes_of({cells, cell_tanhs})};
  }

  static Layer layer_of(const at::Tensor& output, const at::Tensor& gates, const at::Tensor& cells,
                        const at::Tensor& cell_tanhs) {
    return {.steps = output.size(0),
            .samples = output.size(1),
            .hidden = output.size(2),
            .gates = gates.mutable_data_ptr<float>(),
            .cells = cells.mutable_data_ptr<float>(),
            .cell_tanhs = cell_tanhs.mutable_data_ptr<float>(),
            .outputs = output.mutable_data_ptr<float>()};
  }
};

}  // namespace

bool can_lstm_layer(const at::Tensor& input, const LstmWeights& weights) {
  for (const at::Tensor& tensor : {input, weights.input, weights.hidden, weights.input_bias, weights.hidden_bias}) {
    if (!tensor.defined() || !tensor.is_cpu() || tensor.scalar_type() != at::kFloat || tensor.numel() == 0)
      return false;
  }
  const std::int64_t hidden = weights.hidden.dim() == 2 ? weights.hidden.size(1) : 0;
  return products() != nullptr && is_plain_forward() && hidden % kCells == 0 && input.dim() == 3 &&
         weights.input.dim() == 2 && weights.input.size(1) == input.size(2) && input.size(2) % kCells == 0 &&
         weights.hidden.size(0) == 4 * hidden && weights.input.size(0) == 4 * hidden;
}

at::Tensor lstm_layer(const at::Tensor& input, const LstmWeights& weights) {
  return LstmLayer::apply(input, weights.input, weights.hidden, weights.input_bias, weights.hidden_bias);
}

}  // namespace lockstep::kernels

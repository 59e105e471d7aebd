#include "operation_work.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace lockstep::bench {
namespace {

using Inputs = c10::ArrayRef<const c10::IValue>;
using kernels::Work;

double count(std::int64_t number) {
  return static_cast<double>(number);
}

double bytes_of(const at::Tensor& tensor) {
  return kernels::bytes_of({tensor});
}

// Products of [rows][depth] and [depth][columns], one or a batch of them.
Work product(const at::Tensor& a, const at::Tensor& b) {
  const double results = count(a.numel() / std::max<std::int64_t>(a.size(-1), 1) * b.size(-1));
  return {.flop = 2 * results * count(a.size(-1)),
          .bytes = kernels::bytes_of({a, b}) + results * static_cast<double>(a.element_size())};
}

// Of each of the two gradients that is asked for: as many products as forward had.
Work convolution_backward(const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight,
                          const std::vector<bool>& wanted) {
  const double flop = 2 * count(gradient.numel()) * count(weight.numel() / std::max<std::int64_t>(weight.size(0), 1));
  Work work{.bytes = bytes_of(gradient)};
  for (std::size_t i = 0; i < 2; ++i) {
    if (wanted[i]) work.flop += flop, work.bytes += kernels::bytes_of({input, weight});
  }
  return work;
}

// The output's pixels follow from the input's, as in every convolution.
Work convolution(const at::Tensor& input, const at::Tensor& weight, const std::vector<std::int64_t>& padding,
                 const std::vector<std::int64_t>& stride, const std::vector<std::int64_t>& dilation) {
  double outputs = count(input.size(0) * weight.size(0));
  for (std::int64_t i = 2; i < input.dim(); ++i) {
    const auto of = [&](const std::vector<std::int64_t>& each) {
      return each[std::min(static_cast<std::size_t>(i - 2), each.size() - 1)];
    };
    outputs *= count((input.size(i) + 2 * of(padding) - of(dilation) * (weight.size(i) - 1) - 1) / of(stride) + 1);
  }
  return {.flop = 2 * outputs * count(weight.numel() / std::max<std::int64_t>(weight.size(0), 1)),
          .bytes = kernels::bytes_of({input, weight}) + outputs * static_cast<double>(input.element_size())};
}

// Passes over memory, by how often they read or write as much as their first input has.
struct Pass {
  std::string_view name;
  int times;
};
constexpr std::array kPasses{Pass{"aten::_log_softmax", 2},
                             Pass{"aten::_log_softmax_backward_data", 3},
                             Pass{"aten::add", 3},
                             Pass{"aten::add_", 3},
                             Pass{"aten::clamp_min", 2},
                             Pass{"aten::clamp_min_", 2},
                             Pass{"aten::copy_", 2},
                             Pass{"aten::div_", 2},
                             Pass{"aten::fill_", 1},
                             Pass{"aten::mul_", 2},
                             Pass{"aten::native_batch_norm", 2},
                             Pass{"aten::native_batch_norm_backward", 3},
                             Pass{"aten::sum", 1},
                             Pass{"aten::threshold_backward", 3},
                             Pass{"aten::zero_", 1}};

double bytes_of_lists(const Inputs& inputs) {
  double bytes = 0;
  for (const c10::IValue& input : inputs) {
    if (!input.isTensorList()) continue;
    for (const at::Tensor& tensor : input.toTensorVector()) bytes += bytes_of(tensor);
  }
  return bytes;
}

}  // namespace

Work work_of(const at::RecordFunction& operation) {
  const std::string_view name = operation.name();
  const Inputs inputs = operation.inputs();
  const auto tensor = [&](std::size_t i) { return inputs[i].toTensor(); };
  if (name.starts_with("lockstep::")) {
    if (inputs.size() != 2 || !inputs[0].isDouble() || !inputs[1].isDouble()) return {};
    return {.flop = inputs[0].toDouble(), .bytes = inputs[1].toDouble()};
  }
  if (inputs.empty()) return {};
  if (name == "aten::mm" || name == "aten::bmm") return product(tensor(0), tensor(1));
  if (name == "aten::addmm") return product(tensor(1), tensor(2));
  if (name == "aten::mkldnn_convolution") {
    return convolution(tensor(0), tensor(1), inputs[3].toIntVector(), inputs[4].toIntVector(), inputs[5].toIntVector());
  }
  if (name == "aten::convolution_backward") {
    const auto wanted = inputs.back().toBoolList();
    return convolution_backward(tensor(0), tensor(1), tensor(2), {wanted[0], wanted[1]});
  }
  // Parameters, gradients and momentum are read, and all but gradients written.
  if (name == "aten::_fused_sgd_") return {.bytes = bytes_of_lists(inputs) * 5 / 3};
  const auto* pass = std::find_if(kPasses.begin(), kPasses.end(), [&](const Pass& one) { return one.name == name; });
  if (pass == kPasses.end() || !inputs[0].isTensor()) return {};
  return {.bytes = pass->times * bytes_of(tensor(0))};
}

}  // namespace lockstep::bench

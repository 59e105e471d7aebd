#include "output_sink.h"

#include <torch/csrc/autograd/custom_function.h>

namespace lockstep::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

struct Callback : torch::CustomClassHolder {
  explicit Callback(std::function<void()> the_call) : call(std::move(the_call)) {}
  std::function<void()> call;
};

struct Sink : torch::autograd::Function<Sink> {
  static variable_list forward(AutogradContext* context, const c10::intrusive_ptr<Callback>& callback,
                               at::TensorList outputs) {
    context->set_materialize_grads(false);
    context->saved_data["callback"] = c10::IValue::make_capsule(callback);
    variable_list result;
    for (const at::Tensor& output : outputs) result.push_back(output.clone());
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    static_cast<Callback&>(*context->saved_data["callback"].toCapsule()).call();
    gradients.insert(gradients.begin(), Variable());
    return gradients;
  }
};

}  // namespace

void sink_outputs(const Synchronizer::Outputs& outputs, std::function<void()> on_backward) {
  std::vector<at::Tensor> tensors;
  outputs([&](at::Tensor& tensor) {
    if (tensor.defined() && tensor.requires_grad()) tensors.push_back(tensor);
  });
  if (tensors.empty()) return;
  const auto callback = c10::make_intrusive<Callback>(std::move(on_backward));
  const variable_list sunk = Sink::apply(callback, at::TensorList(tensors));
  std::size_t next = 0;
  outputs([&](at::Tensor& tensor) {
    if (tensor.defined() && tensor.requires_grad()) tensor = sunk[next++];
  });
}

}  // namespace lockstep::parallel

#include "trace.h"

#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/nn/module.h>

#include <lockstep/base/errors.h>

#include "tensors.h"

namespace lockstep::tensorboard {
namespace {

// Evaluation mode, for as long as it lives.
class Evaluating {
 public:
  explicit Evaluating(torch::nn::Module& module) {
    for (auto& part : module.modules()) were_training_.emplace_back(part, part->is_training());
    module.eval();
  }
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;
  ~Evaluating() {
    // Those around others come first, so each has the last word on itself.
    for (auto& [part, was_training] : were_training_) part->train(was_training);
  }

 private:
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> were_training_;
};

// Makes tensors of the module inputs of the graph that is being traced: constants may not need gradients.
void add_parameters(torch::nn::Module& module, Trace& trace) {
  const auto& state = torch::jit::tracer::getTracingState();
  trace.graph = state->graph;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    torch::jit::Value* const value = trace.graph->addInput();
    value->inferTypeFrom(tensor);
    torch::jit::tracer::setValueTrace(tensor, value);
    trace.parameters.emplace(value, name);
  };
  for (const auto& item : module.named_parameters()) add(item.key(), item.value());
  for (const auto& item : module.named_buffers()) add(item.key(), item.value());
}

}  // namespace

Trace trace_forward(torch::nn::Module& module, const std::function<at::Tensor(const at::Tensor&)>& forward,
                    const at::Tensor& example) {
  require_elements(example, "the example of a graph");
  const Evaluating evaluating(module);
  const at::NoGradGuard no_gradients;
  Trace trace;
  const auto traced = [&](torch::jit::Stack inputs) -> torch::jit::Stack {
    add_parameters(module, trace);
    return {forward(inputs.at(0).toTensor())};
  };
  try {
    torch::jit::tracer::trace({example}, traced, [](const at::Tensor&) { return std::string(); });
  } catch (const c10::Error& error) {
    throw UsageError({.message = "the module cannot be traced on this example",
                      .found = error.what_without_backtrace(),
                      .next = "give an example on the device and of the shape that the module takes"});
  }
  return trace;
}

}  // namespace lockstep::tensorboard

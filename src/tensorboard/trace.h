// One forward pass of a module, as a graph of operations.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include <ATen/core/Tensor.h>

namespace torch::jit {
struct Graph;
struct Value;
}  // namespace torch::jit
namespace torch::nn {
class Module;
}

namespace lockstep::tensorboard {

struct Trace {
  std::shared_ptr<torch::jit::Graph> graph;
  // The values that are parameters or buffers, with their names, such as "layer1.0.conv1.weight".
  std::unordered_map<const torch::jit::Value*, std::string> parameters;
};

// Calls `forward` once with `example`, in evaluation mode and without gradients; the module is as before afterwards.
// Throws UsageError when it fails.
Trace trace_forward(torch::nn::Module& module, const std::function<at::Tensor(const at::Tensor&)>& forward,
                    const at::Tensor& example);

}  // namespace lockstep::tensorboard

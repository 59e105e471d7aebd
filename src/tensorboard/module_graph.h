#pragma once
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "graph_event.h"

namespace torch::nn {
class Module;
}

namespace lockstep::tensorboard {

// The graph of a forward pass for TensorBoard: a node for each operation and each parameter in use, named as
// Net/Sequential[layer1]/BasicBlock[0]/Conv2d[conv1]/conv2d. Arguments that are constants stand in a node's attribute,
// not as nodes of their own.
std::vector<GraphNode> module_graph(torch::nn::Module& module,
                                    const std::function<at::Tensor(const at::Tensor&)>& forward,
                                    const at::Tensor& example);

}  // namespace lockstep::tensorboard

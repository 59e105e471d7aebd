#include "module_graph.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/nn/module.h>

#include "scopes.h"
#include "trace.h"

namespace lockstep::tensorboard {
namespace {

using torch::jit::Node;
using torch::jit::Value;

// "torch::nn::Conv2dImpl" is shown as "Conv2d".
std::string type_name(const torch::nn::Module& module) {
  std::string name = module.name();
  name.resize(std::min(name.size(), name.find('<')));
  const std::size_t colon = name.rfind(':');
  if (colon != std::string::npos) name.erase(0, colon + 1);
  if (name.ends_with("Impl")) name.resize(name.size() - 4);
  return name;
}

// How the paths of modules are shown: "layer1.0" as "Net/Sequential[layer1]/BasicBlock[0]".
struct ScopeNames {
  explicit ScopeNames(torch::nn::Module& module) {
    const std::string root = type_name(module);
    shown[""] = root;
    for (const auto& item : module.named_modules("", /*include_self=*/false)) {
      const std::string& path = item.key();
      const std::size_t dot = path.rfind('.');
      const std::string around = dot == std::string::npos ? "" : path.substr(0, dot);
      shown[path] = fmt::format("{}/{}[{}]", shown[around], type_name(*item.value()),
                                dot == std::string::npos ? path : path.substr(dot + 1));
      if (item.value()->children().empty()) leaves.insert(path);
    }
  }

  std::map<std::string, std::string> shown;
  std::set<std::string> leaves;
};

std::string owner_of(const std::string& parameter) {
  const std::size_t dot = parameter.rfind('.');
  return dot == std::string::npos ? "" : parameter.substr(0, dot);
}

// Numbers, flags, lists of them: part of an operation rather than operations.
bool is_argument(const Node* node) {
  if (node->kind() == torch::jit::prim::Constant) return true;
  const bool list = node->kind() == torch::jit::prim::ListConstruct;
  return list && std::ranges::all_of(node->inputs(), [](const Value* value) { return is_argument(value->node()); });
}

std::string argument_text(const Value* value) {
  if (value->node()->kind() == torch::jit::prim::ListConstruct) {
    std::vector<std::string> elements;
    for (const Value* element : value->node()->inputs()) elements.push_back(argument_text(element));
    return fmt::format("[{}]", fmt::join(elements, ", "));
  }
  const auto constant = torch::jit::toIValue(value);
  if (!constant || constant->isTensor()) return "tensor";
  if (constant->isDouble()) return fmt::format("{}", constant->toDouble());
  std::ostringstream text;
  text << *constant;
  return text.str();
}

std::optional<std::vector<std::int64_t>> shape_of(const Value* value) {
  const auto type = value->type()->cast<c10::TensorType>();
  return type ? type->sizes().concrete_sizes() : std::nullopt;
}

class GraphMaker {
 public:
  GraphMaker(torch::nn::Module& module, Trace trace) : scope_names_(module), trace_(std::move(trace)) {}

  std::vector<GraphNode> make() {
    for (Node* const node : trace_.graph->nodes()) {
      if (is_argument(node)) continue;
      numbers_[node] = nodes_.size();
      nodes_.push_back(node);
    }
    add_inputs();
    const std::vector<std::string> scopes = find_scopes(operations(), scope_names_.leaves);
    for (std::size_t i = 0; i < nodes_.size(); ++i) add_operation(*nodes_[i], scopes[i]);
    add_outputs();
    return std::move(graph_);
  }

 private:
  std::vector<TracedOperation> operations() const {
    std::vector<TracedOperation> all;
    for (const Node* const node : nodes_) all.push_back(operation_of(*node));
    return all;
  }

  TracedOperation operation_of(const Node& node) const {
    TracedOperation operation;
    for (const Value* const input : node.inputs()) {
      const auto parameter = trace_.parameters.find(input);
      const auto number = numbers_.find(input->node());
      if (parameter != trace_.parameters.end()) {
        operation.owners.push_back(owner_of(parameter->second));
      } else if (number != numbers_.end()) {
        operation.inputs.push_back(number->second);
      } else if (!is_argument(input->node())) {
        operation.uses_example = true;
      }
    }
    const auto shape = node.outputs().empty() ? std::nullopt : shape_of(node.outputs()[0]);
    operation.keeps_shape = shape && !node.inputs().empty() && shape == shape_of(node.inputs()[0]);
    return operation;
  }

  GraphNode& add_node(const std::string& name, const std::string& op, const Value* output) {
    GraphNode& node = graph_.emplace_back();
    node.name = name;
    for (int again = 1; !used_.insert(node.name).second; ++again) node.name = fmt::format("{}_{}", name, again);
    node.op = op;
    if (output != nullptr) node.shape = shape_of(output);
    return node;
  }

  void add_inputs() {
    for (const Value* const input : trace_.graph->inputs()) {
      if (input->uses().empty()) continue;
      const auto parameter = trace_.parameters.find(input);
      if (parameter == trace_.parameters.end()) {
        names_[input] = add_node("input/" + input->debugName(), "IO Node", input).name;
        continue;
      }
      const std::string& path = parameter->second;
      const std::string scope = owner_of(path);
      const std::string name = scope.empty() ? path : path.substr(scope.size() + 1);
      names_[input] = add_node(scope_names_.shown[scope] + "/" + name, "Parameter", input).name;
    }
  }

  void add_operation(const Node& node, const std::string& scope) {
    const std::string kind = node.kind().toQualString();
    std::string short_name = node.kind().toUnqualString();
    short_name.erase(0, short_name.find_first_not_of('_'));
    short_name.resize(short_name.find_last_not_of('_') + 1);
    const Value* const output = node.outputs().empty() ? nullptr : node.outputs()[0];
    GraphNode& added = add_node(scope_names_.shown[scope] + "/" + short_name, kind, output);
    std::vector<std::string> arguments;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* const input = node.inputs()[i];
      if (names_.contains(input)) {
        added.inputs.push_back(names_[input]);
      } else if (is_argument(input->node())) {
        arguments.push_back(argument_name(node, i) + argument_text(input));
      }
    }
    added.attributes = fmt::format("{{{}}}", fmt::join(arguments, ", "));
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      names_[node.outputs()[i]] = i == 0 ? added.name : fmt::format("{}:{}", added.name, i);
    }
  }

  static std::string argument_name(const Node& node, std::size_t i) {
    const c10::FunctionSchema* const schema = node.maybeSchema();
    return schema == nullptr || i >= schema->arguments().size() ? "" : schema->arguments()[i].name() + ": ";
  }

  void add_outputs() {
    for (std::size_t i = 0; i < trace_.graph->outputs().size(); ++i) {
      const Value* const output = trace_.graph->outputs()[i];
      GraphNode& node = add_node(fmt::format("output/output.{}", i + 1), "IO Node", output);
      if (names_.contains(output)) node.inputs.push_back(names_[output]);
    }
  }

  ScopeNames scope_names_;
  const Trace trace_;
  std::vector<GraphNode> graph_;
  std::vector<Node*> nodes_;
  std::map<const Node*, std::size_t> numbers_;
  std::map<const Value*, std::string> names_;
  std::set<std::string> used_;
};

}  // namespace

std::vector<GraphNode> module_graph(torch::nn::Module& module,
                                    const std::function<at::Tensor(const at::Tensor&)>& forward,
                                    const at::Tensor& example) {
  return GraphMaker(module, trace_forward(module, forward, example)).make();
}

}  // namespace lockstep::tensorboard

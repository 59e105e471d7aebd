#include <lockstep/parallel/module_state.h>

#include <unordered_set>

#include <torch/csrc/jit/api/module.h>
#include <torch/nn/module.h>

#include <lockstep/nn/batch_norm.h>

namespace lockstep {
namespace {

class Collector {
 public:
  explicit Collector(NamedTensors::List& list) : list_(list) {}

  void add(const std::string& name, const at::Tensor& tensor) {
    if (tensor.defined() && seen_.insert(tensor.unsafeGetTensorImpl()).second) list_.emplace_back(name, tensor);
  }

 private:
  NamedTensors::List& list_;
  std::unordered_set<const void*> seen_;
};

}  // namespace

NamedTensors::List all_of(const ModuleState& state) {
  NamedTensors::List all = state.parameters;
  all.insert(all.end(), state.buffers.begin(), state.buffers.end());
  return all;
}

ModuleState state_of(const torch::nn::Module& module) {
  ModuleState state;
  Collector parameters(state.parameters), buffers(state.buffers);
  for (const auto& item : module.named_parameters()) parameters.add(item.key(), item.value());
  for (const auto& item : module.named_buffers()) buffers.add(item.key(), item.value());
  module.apply([&](const std::string& name, const torch::nn::Module& part) {
    const auto* norm = part.as<nn::BatchNormImpl>();
    if (norm != nullptr && norm->normalizer()) state.synchronized.push_back(name);
  });
  return state;
}

ModuleState state_of(const torch::jit::Module& module) {
  ModuleState state;
  Collector parameters(state.parameters), buffers(state.buffers);
  for (const auto& item : module.named_parameters()) parameters.add(item.name, item.value);
  for (const auto& item : module.named_buffers()) buffers.add(item.name, item.value);
  return state;
}

}  // namespace lockstep

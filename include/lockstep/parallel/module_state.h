// What a module holds, by name: the same view of a torch::nn module and of a TorchScript module.
#pragma once
#include <concepts>
#include <string>
#include <vector>

#include <lockstep/parallel/named_tensors.h>

namespace torch::nn {
class Module;
}
namespace torch::jit {
struct Module;
}

namespace lockstep {

// In the order of registration. A tensor that has several names (tied weights) is listed once, by the first.
struct ModuleState {
  NamedTensors::List parameters = {};
  NamedTensors::List buffers = {};
  std::vector<std::string> synchronized = {};  // normalizations over the batches of all ranks
};

// Parameters, then buffers.
NamedTensors::List all_of(const ModuleState& state);

ModuleState state_of(const torch::nn::Module& module);
ModuleState state_of(const torch::jit::Module& module);

// For holders (TORCH_MODULE) and shared pointers.
template <typename Holder>
requires requires(const Holder& holder) {
  { *holder } -> std::convertible_to<const torch::nn::Module&>;
}
ModuleState state_of(const Holder& holder) {
  return state_of(static_cast<const torch::nn::Module&>(*holder));
}

}  // namespace lockstep

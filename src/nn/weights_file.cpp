#include <lockstep/nn/weights_file.h>

#include <lockstep/data/tensor_bytes.h>

namespace lockstep::nn {

NamedState to_state(const checkpoint::Weights& weights) {
  NamedState state;
  for (const data::TensorFile& file : weights.tensors) {
    state.emplace_back(file.tensor.name, data::to_tensor(file.tensor, file.owner));
  }
  return state;
}

NamedState read_weights(const std::filesystem::path& path, const checkpoint::WeightsOptions& options) {
  return to_state(checkpoint::open_weights(path, options));
}

}  // namespace lockstep::nn

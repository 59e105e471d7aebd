// A model's weights from a file, for load_state().
#pragma once
#include <filesystem>

#include <lockstep/checkpoint/weights.h>
#include <lockstep/nn/model_state.h>

namespace lockstep::nn {

// The tensors of opened weights, on the CPU. They share the memory of the file, which must not be written to, and keep
// it open as long as they live.
NamedState to_state(const checkpoint::Weights& weights);

// The weights in a checkpoint's folder, a safetensors file or a PyTorch file. Throws as checkpoint::open_weights()
// does, which also says what it did to them.
//
//   load_state(model, read_weights("resnet50.pth"));
NamedState read_weights(const std::filesystem::path& path, const checkpoint::WeightsOptions& options = {});

}  // namespace lockstep::nn

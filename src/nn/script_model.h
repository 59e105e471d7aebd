// A TorchScript file as a model.
#pragma once
#include <string>

#include <lockstep/nn/registry.h>

namespace lockstep::nn {

// Whether a model's name is one: it ends in .pt.
bool is_script_file(const std::string& name);

std::shared_ptr<Model> load_script_model(const std::string& path, const ModelOptions& options);

}  // namespace lockstep::nn

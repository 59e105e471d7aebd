// Models by name.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <lockstep/nn/model.h>

namespace lockstep::nn {

// Makes a model on the CPU in float32, with fresh parameters from torch's default generator. Throws UsageError for a
// name that nobody registered, with the nearest that exists, and for options that do not fit the model.
std::shared_ptr<Model> make_model(const std::string& name, const ModelOptions& options = {});

// In the order of registration, ours first.
std::vector<std::string> model_names();

using ModelFactory = std::function<std::shared_ptr<Model>(const ModelOptions&)>;

// Adds a model:
//
//   register_model("my_net", [](const ModelOptions& options) { return std::make_shared<MyNet>(options); });
//
// Throws UsageError for a name that is taken. Returns true, so that it can initialize a variable outside of functions.
bool register_model(const std::string& name, ModelFactory factory);

}  // namespace lockstep::nn

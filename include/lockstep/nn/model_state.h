// The parameters and buffers of a model by name, out of it and into it.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <lockstep/nn/model.h>

namespace lockstep::nn {

using NamedState = std::vector<std::pair<std::string, at::Tensor>>;

// Parameters, then buffers, as Python's state_dict() names them. The tensors share the model's memory and have no
// gradient.
NamedState state_of_model(const torch::nn::Module& model);

struct LoadStateOptions {
  bool strict = true;            // every tensor of the model must be given, and no other
  bool skip_classifier = false;  // the last layer stays as it is, for training on other classes
};

struct LoadedState {
  std::vector<std::string> missing;     // of the model, and not given
  std::vector<std::string> unexpected;  // given, and not of the model
};

// Copies the tensors into the model, to its types and devices. Returns what was left out. Throws UsageError, before
// anything is changed, when tensors are missing or unexpected (if strict), and when one has another shape (always);
// they are named. A classifier with another number of classes has a message of its own.
LoadedState load_state(Model& model, const NamedState& tensors, const LoadStateOptions& options = {});

// Where the names of the last layer begin, such as "fc." or "classifier.6."; empty when there is none whose outputs are
// the classes.
std::string classifier_of(const Model& model);

}  // namespace lockstep::nn

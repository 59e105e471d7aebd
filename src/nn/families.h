// The models that come with the library, one function for each family.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <lockstep/nn/registry.h>

namespace lockstep::nn {

using NamedFactories = std::vector<std::pair<std::string, ModelFactory>>;

NamedFactories resnets();
NamedFactories chain_nets();  // AlexNet and VGG
NamedFactories classic_nets();
NamedFactories airbenches();
NamedFactories transformers();

// The option, or what it is by default.
inline std::int64_t value_or(std::int64_t option, std::int64_t otherwise) {
  return option > 0 ? option : otherwise;
}

// Throws UsageError if something was asked for that only ResNets have.
void require_no_resnet_options(const std::string& model, const ModelOptions& options);

}  // namespace lockstep::nn

// Optimizers by name.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <torch/optim/optimizer.h>

#include <lockstep/optim/parameter_groups.h>

namespace lockstep::optim {

// Under PyTorch's names. What is not given is as PyTorch has it; LARS and LAMB say in their headers what they have.
struct OptimizerOptions {
  std::optional<double> lr = std::nullopt;  // sgd, adam, adamw, lamb: 0.001; lars: 0.1
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> momentum = std::nullopt;                   // sgd, lars
  std::optional<double> dampening = std::nullopt;                  // sgd
  std::optional<bool> nesterov = std::nullopt;                     // sgd
  std::optional<std::tuple<double, double>> betas = std::nullopt;  // adam, adamw, lamb
  std::optional<double> eps = std::nullopt;                        // adam, adamw, lamb, lars
  std::optional<bool> amsgrad = std::nullopt;                      // adam, adamw
  std::optional<double> trust_coefficient = std::nullopt;          // lars
  std::optional<bool> always_adapt = std::nullopt;                 // lars, lamb
  bool fused = true;  // false: libtorch's own loops over tensors, to compare with; sgd, adam, adamw
};

// "sgd", "adam", "adamw", "lars", "lamb"
std::vector<std::string> optimizer_names();

// Makes one of these, which is a DeviceStep too if it is fused. Throws UsageError for another name, with the nearest
// that exists; for an option that the optimizer does not have; and for a value that means nothing.
//
//   const OptimizerOptions options{.lr = 0.1, .weight_decay = 5e-4, .momentum = 0.9};
//   auto optimizer = make_optimizer("sgd", parameter_groups(*model), options);
std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& name,
                                                        const std::vector<ParameterGroup>& groups,
                                                        const OptimizerOptions& options = {});

}  // namespace lockstep::optim

// The C++ side of data_parallel.py: the same training with our DistributedDataParallel, compared with what PyTorch's
// got.
//
// usage: parity_data_parallel FOLDER MODEL...
#include <filesystem>
#include <iostream>

#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>
#include <lockstep/nn/registry.h>
#include <lockstep/parallel/distributed_data_parallel.h>

#include "tensors.h"

namespace {

constexpr double kTolerance = 1e-6;
constexpr int kSteps = 10;

int failures = 0;

// Returns the difference, relative to the largest value.
double compare(const std::string& what, const at::Tensor& found, const at::Tensor& expected) {
  const double difference = ((found - expected).abs().max() / expected.abs().max()).item<double>();
  if (difference <= kTolerance) return difference;
  ++failures;
  std::cerr << what << " differs by " << difference << " of its largest value" << std::endl;
  return difference;
}

void check(const std::string& name, const std::filesystem::path& folder, const lockstep::World& world) {
  torch::manual_seed(7);
  const auto model = lockstep::nn::make_model(name);
  model->to(torch::kDouble);
  lockstep::DistributedDataParallel parallel(model, world);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(1e-4));
  const std::vector<std::int64_t> shape =
      name == "lstm" ? std::vector<std::int64_t>{4, 8, 128} : std::vector<std::int64_t>{4, 3, 64, 64};
  std::vector<at::Tensor> losses;
  for (int step = 0; step < kSteps; ++step) {
    torch::manual_seed(static_cast<std::uint64_t>(100 * step + world.rank()));
    const auto inputs = torch::randn(shape, torch::kDouble);
    const auto labels = torch::randint(100, {4}, torch::kLong);
    optimizer.zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(parallel.forward(inputs), labels);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.detach());
  }
  const auto expected = lockstep::test::read_tensors(folder / (name + "-" + std::to_string(world.rank()) + ".pt"));
  double largest = compare(name + ", losses", torch::stack(losses), expected.at("losses").toTensor());
  for (const auto& parameter : model->named_parameters()) {
    const auto& key = parameter.key();
    largest = std::max(largest, compare(name + ", " + key, parameter->detach(), expected.at(key).toTensor()));
  }
  if (world.rank() == 0) std::cout << name << ": equal to " << largest << " after " << kSteps << " steps" << std::endl;
}

int body(int argc, char** argv) {
  const lockstep::World world({.timeout = std::chrono::seconds(60)});
  for (int i = 2; i < argc; ++i) check(argv[i], argv[1], world);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors(lockstep::discover_placement().rank, body, argc, argv);
}

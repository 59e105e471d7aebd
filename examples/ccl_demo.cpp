// torch-ccl's own demo in C++: a linear model, the mean squared error, three steps.
//
//   mpiexec.hydra -n 2 ccl_demo
//
// Rank and size come from what the launcher has set, PMI_RANK and PMI_SIZE here; lockstep run and torchrun do as well.
#include <fmt/format.h>
#include <torch/torch.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <lockstep/lockstep.h>

namespace {

int body(int argc, char** argv) {
  std::string backend = "ccl";
  CLI::App program("Trains a linear model in three synchronous steps.", "ccl_demo");
  program.add_option("--backend", backend, "How ranks talk: ccl, or another")->capture_default_str();
  if (const auto done = lockstep::parse_command_line(program, argc, argv)) return *done;

  const lockstep::World world({.backend = backend});
  torch::manual_seed(world.rank());  // each rank has its own samples
  torch::nn::Linear model(4, 5);
  for (const auto& parameter : model->parameters()) world.broadcast(parameter);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1));
  const auto inputs = torch::randn({2, 4});
  const auto labels = torch::randn({2, 5});

  for (int step = 1; step <= 3; ++step) {
    optimizer.zero_grad();
    const auto loss = torch::nn::functional::mse_loss(model->forward(inputs), labels);
    loss.backward();
    for (const auto& parameter : model->parameters()) {
      world.all_reduce(parameter.grad(), lockstep::Reduce::kAverage);
    }
    optimizer.step();
    const double mean = world.all_reduce_value(loss.item<double>()) / world.size();
    if (world.rank() == 0)
      fmt::print("step {} of 3 on {} ranks with {}: loss {:.6f}\n", step, world.size(), world.backend(), mean);
  }

  const auto ours = model->weight.detach().clone();
  world.broadcast(ours);
  if (!ours.equal(model->weight)) throw lockstep::RuntimeError("the ranks have different parameters");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors(lockstep::discover_placement().rank, body, argc, argv);
}

// A rank that trains with DistributedDataParallel: training_rank BACKEND WAY. At its third step rank 1 throws in
// forward (throw), uses only a part of the module (unused), or is fine (none). What backward or forward throws is
// printed.
#include <csignal>
#include <iostream>
#include <thread>

#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>
#include <lockstep/parallel/distributed_data_parallel.h>

namespace {

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x, const std::string& way) {
    if (way == "throw") throw std::runtime_error("a sample is damaged");
    return way == "unused" ? first(x) : first(x) + second(x);
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(700, 700));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(700, 700));
};
TORCH_MODULE(Net);

void train(const lockstep::World& world, const std::string& way) {
  Net net;
  lockstep::DistributedDataParallel ddp(net, world);
  for (int step = 0; step < 5; ++step) {
    net->zero_grad();
    const bool errs = world.rank() == 1 && step >= 2;
    ddp.forward(torch::ones({2, 700}), errs ? way : "none").sum().backward();
  }
  std::cout << "rank " << world.rank() << ": done" << std::endl;
}

int body(int, char** argv) {
  try {
    const lockstep::World world({.backend = argv[1], .timeout = std::chrono::seconds(20)});
    train(world, argv[2]);
  } catch (const std::exception& error) {
    std::cout << argv[2] << ": " << error.what() << std::endl;
    // Others must have the time to say what they have to say, before the launcher ends them.
    std::this_thread::sleep_for(std::chrono::seconds(3));
    throw;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, SIG_IGN);
  return lockstep::report_errors(lockstep::discover_placement().rank, body, argc, argv);
}

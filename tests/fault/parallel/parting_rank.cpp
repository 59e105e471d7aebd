// A rank of a program whose ranks part ways: parting_rank BACKEND TIMEOUT_MS WAY. Rank 1 is who errs. With hvd's
// operations it submits another name (name), another shape (shape), nothing (nothing), or shuts down (leaves); with a
// DistributedOptimizer it does not come to the second step (step). What is thrown is printed.
#include <csignal>
#include <iostream>
#include <string>
#include <thread>

#include <ATen/ops/ones.h>
#include <torch/optim/sgd.h>

#include <lockstep/base/errors.h>
#include <lockstep/hvd.h>

namespace {

namespace hvd = lockstep::hvd;

void submit(const std::string& way) {
  const bool errs = hvd::rank() == 1;
  if (errs && way == "leaves") {
    hvd::shutdown();
  } else if (errs && way == "nothing") {
    std::this_thread::sleep_for(std::chrono::seconds(3));
  } else {
    hvd::allreduce(at::ones({errs && way == "shape" ? 3 : 2}), errs && way == "name" ? "accuracy" : "loss");
  }
}

void step_twice() {
  const at::Tensor weight = at::ones({2}).requires_grad_(true);
  torch::optim::SGD sgd({weight}, 0.1);
  hvd::DistributedOptimizer optimizer(sgd, lockstep::NamedTensors::List{{"encoder.weight", weight}});
  for (int step = 0; step < 2; ++step) {
    if (step == 1 && hvd::rank() == 1) return std::this_thread::sleep_for(std::chrono::seconds(3));
    weight.sum().backward();
    optimizer.step();
  }
}

int body(int, char** argv) {
  hvd::init({.backend = argv[1], .timeout = std::chrono::milliseconds(std::stoi(argv[2]))});
  const int rank = hvd::rank();
  const std::string way = argv[3];
  try {
    way == "step" ? step_twice() : submit(way);
  } catch (const lockstep::Error& error) {
    std::cout << "rank " + std::to_string(rank) + ": " + error.what() + "\n" << std::flush;
    // Others must have the time to say what they have to say, before the launcher ends them.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return error.exit_code();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, SIG_IGN);
  return lockstep::report_errors({}, body, argc, argv);
}

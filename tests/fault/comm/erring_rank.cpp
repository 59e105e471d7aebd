// A rank that does its part in a job that goes wrong: erring_rank BACKEND TIMEOUT_MS WAY. Rank 1 is who errs: it sleeps
// (late), calls something else (other), a different size (size), divides by zero in the sense of SIGSEGV (crash), or is
// fine (none). What a collective throws is printed.
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <thread>

#include <ATen/ops/ones.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>

namespace {

using std::chrono::milliseconds;

void err(const lockstep::World& world, const std::string& way) {
  const at::Tensor tensor = at::ones({10});
  if (world.rank() != 1 || way == "none") {
    world.all_reduce(tensor);
  } else if (way == "late") {
    std::this_thread::sleep_for(std::chrono::seconds(4));
  } else if (way == "other") {
    world.broadcast(tensor);
  } else if (way == "size") {
    world.all_reduce(at::ones({20}));
  } else if (way == "crash") {
    std::raise(SIGSEGV);
  }
}

int body(int, char** argv) {
  const lockstep::World world({.backend = argv[1], .timeout = milliseconds(std::stoi(argv[2]))});
  for (int i = 0; i < 3; ++i) world.all_reduce(at::ones({1000}));
  try {
    err(world, argv[3]);
  } catch (const lockstep::Error& error) {
    std::cout << "rank " << world.rank() << ": " << error.what() << std::endl;
    // Others must have the time to say what they have to say, before the launcher ends them.
    std::this_thread::sleep_for(std::chrono::seconds(3));
    return error.exit_code();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, SIG_IGN);
  return lockstep::report_errors({}, body, argc, argv);
}

// Ranks that reduce, of which rank 1 then stops or dies. The others write down in FOLDER what stopped them
// (first.RANK), what came of a second try (second.RANK) and last their process (pid.RANK), and end.
//
// usage: failing_rank FOLDER stops|dies
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <ATen/ops/ones.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>

namespace {

std::string failure(const lockstep::World& world, const at::Tensor& tensor) {
  try {
    world.all_reduce(tensor);
    return "none";
  } catch (const lockstep::Error& error) {
    return error.what();
  }
}

}  // namespace

int main(int, char** argv) {
  const std::filesystem::path folder = argv[1];
  const lockstep::World world({.backend = "mpi", .timeout = std::chrono::seconds(2)});
  const at::Tensor tensor = at::ones({1'000'000});
  world.all_reduce(tensor);
  if (world.rank() == 1) {
    if (std::string(argv[2]) == "dies") std::raise(SIGKILL);
    std::this_thread::sleep_for(std::chrono::minutes(1));
  }
  const std::string rank = std::to_string(world.rank());
  std::ofstream(folder / ("first." + rank)) << failure(world, tensor);
  std::ofstream(folder / ("second." + rank)) << failure(world, tensor);
  std::ofstream(folder / ("new." + rank)) << ::getpid();
  std::filesystem::rename(folder / ("new." + rank), folder / ("pid." + rank));
}

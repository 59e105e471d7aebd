// A rank that reduces without end and writes down what stopped it: FOLDER/pid.RANK when it begins, FOLDER/error.RANK
// when a collective throws. Deaf to SIGTERM, so that the launcher's help is not what ends it.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <ATen/ops/ones.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>

int main(int, char** argv) {
  std::signal(SIGTERM, SIG_IGN);
  const std::filesystem::path folder = argv[1];
  const lockstep::World world({.backend = argv[2], .timeout = std::chrono::seconds(30)});
  const std::string rank = std::to_string(world.rank());
  const at::Tensor tensor = at::ones({100'000});
  world.all_reduce(tensor);
  std::ofstream(folder / ("new." + rank)) << ::getpid();
  std::filesystem::rename(folder / ("new." + rank), folder / ("pid." + rank));
  try {
    for (;;) {
      world.all_reduce(tensor, lockstep::Reduce::kMax);
    }
  } catch (const lockstep::Error& error) {
    std::ofstream(folder / ("new." + rank)) << error.what();
    std::filesystem::rename(folder / ("new." + rank), folder / ("error." + rank));
  }
}

// One rank that meets the others, adds up the ranks' numbers and prints the sum: meeting_rank INIT_METHOD RANK SIZE
// BACKEND TIMEOUT_MS [throws]. With "throws" an error ends rank 0 before that. An INIT_METHOD of "auto" and a SIZE of 0
// leave both to the environment.
#include <iostream>
#include <string>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>

namespace {

int body(int argc, char** argv) {
  lockstep::WorldOptions options{.backend = argv[4], .timeout = std::chrono::milliseconds(std::stoi(argv[5]))};
  if (std::string(argv[1]) != "auto") options.init_method = argv[1];
  if (std::stoi(argv[3]) != 0) options.rank = lockstep::RankId{std::stoi(argv[2]), std::stoi(argv[3])};
  const lockstep::World world(options);
  if (argc > 6 && world.rank() == 0) throw lockstep::RuntimeError("rank 0 gives up");
  const auto sum = world.all_reduce_value(std::int64_t{world.rank()} + 1);
  if (world.rank() == 0) std::cout << "the sum is " << sum << " by " << world.backend() << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors({}, body, argc, argv);
}

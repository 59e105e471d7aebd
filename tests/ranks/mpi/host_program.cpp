// A program that has MPI already and makes a World beside it: MPI stays the program's own.
//
// usage: host_program multiple|serialized|funneled
#include <dlfcn.h>
#include <mpi.h>

#include <iostream>
#include <string>

#include <ATen/ops/full.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>

#include "comm/engine.h"

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw lockstep::RuntimeError(std::string("does not hold: ") + what);
}

class Endless : public lockstep::comm::Patience {
 public:
  void check() const override {}
};

int sum_by_mpi(int value) {
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

void use_world() {
  const lockstep::World world({.backend = "mpi", .timeout = std::chrono::seconds(30)});
  const at::Tensor tensor = at::full({100'000}, world.rank() + 1);
  world.all_reduce(tensor);
  require(tensor.eq(world.size() * (world.size() + 1) / 2).all().item<bool>(), "the sum of Lockstep");
  require(sum_by_mpi(1) == world.size(), "the sum of MPI beside it");
}

// What a World uses to meet through MPI. The plugin has been loaded by now, for all to see.
void use_exported_functions(int size) {
  const auto find_rank = reinterpret_cast<void (*)(int&, int&)>(::dlsym(RTLD_DEFAULT, "lockstep_mpi_rank"));
  const auto broadcast = reinterpret_cast<void (*)(std::string&, const lockstep::comm::Patience&)>(
      ::dlsym(RTLD_DEFAULT, "lockstep_mpi_broadcast_text"));
  require(find_rank != nullptr && broadcast != nullptr, "the plugin exports its functions");
  int rank = -1, ranks = -1;
  find_rank(rank, ranks);
  require(ranks == size && rank == lockstep::discover_placement().rank.rank, "the plugin's rank");
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    const std::string sent(length, 'x');
    std::string text = rank == 0 ? sent : "something else";
    broadcast(text, Endless());
    require(text == sent, "the text of rank 0");
  }
}

// A receive that nobody sends to, in a group that is closed: it is taken back, and MPI goes on.
void abandon_receive() {
  const lockstep::World world({.backend = "mpi", .timeout = std::chrono::seconds(30)});
  auto group = world.subgroup({0, 1});
  const at::Tensor tensor = at::full({1000}, 1);
  lockstep::Work receive = group->receive_async(tensor, 1 - world.rank());
  group.reset();
  try {
    receive.wait();
    require(false, "a receive ends with its group");
  } catch (const lockstep::RuntimeError&) {
    // As it should.
  }
  world.all_reduce(tensor);
  require(tensor.eq(world.size()).all().item<bool>(), "the sum after a receive was given up");
}

int body(int, char** argv) {
  const std::string asked = argv[1];
  const int level = asked == "multiple"     ? MPI_THREAD_MULTIPLE
                    : asked == "serialized" ? MPI_THREAD_SERIALIZED
                                            : MPI_THREAD_FUNNELED;
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, level, &given);
  require(given == level, "the level of threads that was asked for");
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (level >= MPI_THREAD_SERIALIZED) {
    use_world();
    MPI_Barrier(MPI_COMM_WORLD);  // the place where the ranks meet is free again
    use_world();
    MPI_Barrier(MPI_COMM_WORLD);
    abandon_receive();
    use_exported_functions(size);
  } else {
    try {
      use_world();
      require(false, "a World needs threads");
    } catch (const lockstep::UsageError& error) {
      require(std::string(error.what()).find("MPI_THREAD_FUNNELED") != std::string::npos, "the error names the level");
    }
  }
  int finalized = 0;
  MPI_Finalized(&finalized);
  require(finalized == 0, "MPI goes on after the World");
  require(sum_by_mpi(2) == 2 * size, "the sum of MPI after the World");
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return lockstep::report_errors(lockstep::discover_placement().rank, body, argc, argv);
}

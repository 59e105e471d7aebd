// A program that has MPI already and makes a World beside it: MPI stays the program's own.
//
// usage: host_program multiple|serialized|funneled
#include <mpi.h>

#include <iostream>
#include <string>

#include <ATen/ops/full.h>

#include <lockstep/base/errors.h>
#include <lockstep/comm/world.h>

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw lockstep::RuntimeError(std::string("does not hold: ") + what);
}

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

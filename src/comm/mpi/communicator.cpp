#include "communicator.h"

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>

#include "check.h"
#include "runtime.h"

namespace lockstep::comm::mpi {
namespace {

constexpr int kTag = 0;

}  // namespace

Communicator::Communicator(std::span<const int> world_ranks) {
  Runtime::get().call([&] {
    MPI_Group world = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    LOCKSTEP_CHECK_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    LOCKSTEP_CHECK_MPI(MPI_Group_incl(world, static_cast<int>(world_ranks.size()), world_ranks.data(), &members));
    LOCKSTEP_CHECK_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, members, kTag, &communicator_));
    LOCKSTEP_CHECK_MPI(MPI_Group_free(&members));
    LOCKSTEP_CHECK_MPI(MPI_Group_free(&world));
    describe();
  });
}

Communicator::Communicator(MPI_Comm other) {
  Runtime::get().call([&] {
    LOCKSTEP_CHECK_MPI(MPI_Comm_dup(other, &communicator_));
    describe();
  });
}

void Communicator::describe() {
  LOCKSTEP_CHECK_MPI(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN));
  LOCKSTEP_CHECK_MPI(MPI_Comm_rank(communicator_, &rank_));
  LOCKSTEP_CHECK_MPI(MPI_Comm_size(communicator_, &size_));
}

Communicator::~Communicator() {
  if (communicator_ == MPI_COMM_NULL || !Runtime::get().usable()) return;
  try {
    Runtime::get().call([this] { LOCKSTEP_CHECK_MPI(MPI_Comm_free(&communicator_)); });
  } catch (const Error& error) {
    log::debug("closing a communicator: {}", error.what());
  }
}

}  // namespace lockstep::comm::mpi

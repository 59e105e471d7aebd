// What the plugins lockstep_mpi_openmpi.so and lockstep_mpi_mpich.so export; both are built from these sources.
#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "../backend.h"
#include "../engine_backend.h"
#include "check.h"
#include "mpi_engine.h"
#include "requests.h"
#include "runtime.h"

namespace lockstep::comm::mpi {
namespace {

// Until a World says how long.
constexpr auto kDefaultTimeout = std::chrono::minutes(10);

// That the job is the same to MPI and to us: a rank that MPI calls by another number would send to the wrong ones.
void require_agreement(const BackendRequest& request) {
  const Runtime& runtime = Runtime::get();
  const int rank = request.world_ranks[static_cast<std::size_t>(request.rank.rank)];
  const bool known = *std::max_element(request.world_ranks.begin(), request.world_ranks.end()) < runtime.size();
  if (known && rank == runtime.rank()) return;
  throw UsageError({.message = "MPI counts the ranks of this job in another way",
                    .found = fmt::format("rank {} of {} in MPI_COMM_WORLD", runtime.rank(), runtime.size()),
                    .expected = fmt::format("rank {}, and a rank for each of the group", rank),
                    .next = "unset RANK and WORLD_SIZE, and start the ranks with this MPI's own launcher"});
}

// Returns when all ranks of the group have come this far: MPI makes a communicator in a call that waits for all, and
// cannot be interrupted.
void await_all(const BackendRequest& request) {
  if (request.store->add("mpi/here", 1) == request.rank.size) request.store->set("mpi/all_here", "1");
  request.store->get("mpi/all_here");
}

}  // namespace
}  // namespace lockstep::comm::mpi

using namespace lockstep::comm;

#define LOCKSTEP_EXPORT extern "C" __attribute__((visibility("default")))

LOCKSTEP_EXPORT void lockstep_make_backend(const BackendRequest& request, MadeBackend& made) {
  const Operation starting{.name = "starting MPI"};
  const OperationPatience patience(starting, request.timeout, *request.watch);
  mpi::Runtime::get().begin(request.timeout, patience);
  mpi::require_agreement(request);
  mpi::await_all(request);
  made = {c10::make_intrusive<EngineBackend>("mpi", request.rank, std::make_unique<mpi::MpiEngine>(request.world_ranks),
                                             request.timeout, request.watch),
          c10d::ProcessGroup::BackendType::MPI};
}

// Where this process stands in MPI_COMM_WORLD. Starts MPI if it does not run; every rank calls it.
LOCKSTEP_EXPORT void lockstep_mpi_rank(int& rank, int& size) {
  const Operation starting{.name = "starting MPI"};
  const Watch alone({});
  mpi::Runtime::get().begin(mpi::kDefaultTimeout, OperationPatience(starting, mpi::kDefaultTimeout, alone));
  rank = mpi::Runtime::get().rank();
  size = mpi::Runtime::get().size();
}

// The text of rank 0 of MPI_COMM_WORLD becomes that of all. Every rank calls it, before there is a World.
LOCKSTEP_EXPORT void lockstep_mpi_broadcast_text(std::string& text, const Patience& patience) {
  mpi::Runtime::get().begin(mpi::kDefaultTimeout, patience);
  const auto broadcast = [&](void* data, int bytes) {
    mpi::Requests requests;
    requests.start([&](MPI_Request& request) {
      LOCKSTEP_CHECK_MPI(MPI_Ibcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request));
    });
    requests.wait(patience);
  };
  int length = static_cast<int>(text.size());
  broadcast(&length, sizeof(length));
  text.resize(static_cast<std::size_t>(length));
  broadcast(text.data(), length);
}

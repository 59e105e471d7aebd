#pragma once
#include <span>

#include <mpi.h>

namespace lockstep::comm::mpi {

// A communicator of our own. Freed with this object, unless MPI has been given up or finalized by then.
class Communicator {
 public:
  // For `world_ranks` of MPI_COMM_WORLD, in this order. All of them call it, and it waits for all: the caller makes
  // sure that they have come.
  explicit Communicator(std::span<const int> world_ranks);
  // A second one for the same ranks, whose messages do not meet those of the first. As above.
  explicit Communicator(MPI_Comm other);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  MPI_Comm get() const { return communicator_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

 private:
  void describe();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace lockstep::comm::mpi

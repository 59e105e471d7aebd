#pragma once
#include <functional>
#include <span>
#include <vector>

#include <mpi.h>

#include "../engine.h"

namespace lockstep::comm::mpi {

struct Message {
  enum Direction { kSend, kReceive } direction;
  int peer;
  std::byte* data;
  std::size_t bytes;
};

// Operations of MPI that are under way and waited for together. When they are destroyed before that, MPI is given up:
// it could still write into their memory.
class Requests {
 public:
  Requests() = default;
  Requests(Requests&&) = default;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests();

  // Starts messages between ranks of `communicator`, receives first. Those between two ranks with one tag arrive in
  // the order in which they were started.
  void start(MPI_Comm communicator, std::span<const Message> messages, int tag);

  // Starts a collective: `function` calls MPI, which fills the request that it is given.
  void start(const std::function<void(MPI_Request&)>& function);

  // Returns when all are complete. Throws what `patience` throws.
  void wait(const Patience& patience);

 private:
  // True when all are complete.
  bool poll();
  // Throws the error of the first that has one.
  void check_statuses() const;

  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace lockstep::comm::mpi

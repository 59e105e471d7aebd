#pragma once
#include <span>

#include "../engine.h"
#include "communicator.h"
#include "reduce.h"

namespace lockstep::comm::mpi {

// The engine of one rank on MPI. It starts operations and polls them; it never makes a call that MPI could hold it in,
// so that a deadline or the loss of a rank always ends the wait.
class MpiEngine final : public Engine {
 public:
  // All of `world_ranks` of MPI_COMM_WORLD call it, and have come. MPI has begun.
  explicit MpiEngine(std::span<const int> world_ranks);

  void all_reduce(Elements elements, Reduce op, const Patience& patience) override;
  void reduce(Elements elements, Reduce op, int root, const Patience& patience) override;
  void reduce_scatter(Elements input, Elements output, Reduce op, const Patience& patience) override;
  void broadcast(Block block, int root, const Patience& patience) override;
  void all_gather(ConstBlock input, std::span<const Block> outputs, const Patience& patience) override;
  void exchange(std::span<const ConstBlock> inputs, std::span<const Block> outputs, const Patience& patience) override;
  std::unique_ptr<Transfer> start_send(ConstBlock block, int destination, int tag) override;
  std::unique_ptr<Transfer> start_receive(Block block, int source, int tag) override;
  void barrier(const Patience& patience) override;

 private:
  Communicator collectives_;
  Communicator messages_;
  Reducer reducer_;
};

}  // namespace lockstep::comm::mpi

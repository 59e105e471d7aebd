// Point-to-point messages.
#pragma once
#include <memory>

#include <mpi.h>

#include "../engine.h"

namespace lockstep::comm::mpi {

// Throw UsageError for a tag that this MPI does not take. A receive that is given up is taken back; a send cannot be,
// and MPI is given up with it unless the message has passed.
std::unique_ptr<Transfer> start_send(MPI_Comm communicator, ConstBlock block, int destination, int tag);
std::unique_ptr<Transfer> start_receive(MPI_Comm communicator, Block block, int source, int tag);

}  // namespace lockstep::comm::mpi

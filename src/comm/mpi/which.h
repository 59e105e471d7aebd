#pragma once
#include <optional>
#include <string>

namespace lockstep::comm::mpi {

// The MPI that started this process: "openmpi" or "mpich"; nothing when none did.
std::optional<std::string> launcher();

// The MPI that this process must use, since two cannot be in one: LOCKSTEP_MPI, else the one that the program has
// loaded, else that of the launcher, else one that there is a plugin for. Throws UsageError for a value that
// LOCKSTEP_MPI cannot have, and when a job of `ranks` ranks was started by no MPI.
std::string choose(int ranks);

}  // namespace lockstep::comm::mpi

// The backend mpi needs ranks that an MPI's own launcher has started.
#pragma once
#include <string>
#include <vector>

namespace lockstep::launch {

// The words that start `ranks` ranks of `command` on this machine: LOCKSTEP_MPIRUN, if it is set, with its own options
// and `-n`; else the launcher of the MPI that LOCKSTEP_MPI names (openmpi or mpich), or of the first that is there.
// Fewer cores than ranks are no obstacle, nor is being root.
//
// Throws UsageError when there is none; the error says what to install.
std::vector<std::string> mpi_command(int ranks, const std::vector<std::string>& command);

}  // namespace lockstep::launch

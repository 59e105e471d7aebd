// Every call into MPI goes through LOCKSTEP_CHECK_MPI(MPI_Something(...)).
#pragma once

namespace lockstep::comm::mpi {

// Throws RuntimeError with MPI's own text unless `code` is MPI_SUCCESS. `call` is the call as it stands in the source.
void check(int code, const char* call);

}  // namespace lockstep::comm::mpi

#define LOCKSTEP_CHECK_MPI(call) ::lockstep::comm::mpi::check((call), #call)

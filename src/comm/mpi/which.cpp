#include "which.h"

#include <dlfcn.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/plugin.h>

#include "../backend.h"

namespace lockstep::comm {
namespace mpi {
namespace {

const std::string kOpenMpi = "openmpi";
const std::string kMpich = "mpich";

// Each has a symbol that the other has not.
std::optional<std::string> loaded() {
  if (::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != nullptr) return kOpenMpi;
  if (::dlsym(RTLD_DEFAULT, "MPI_Init") != nullptr) return kMpich;
  return std::nullopt;
}

std::optional<std::string> asked() {
  const auto value = env::get("LOCKSTEP_MPI");
  if (value && *value != kOpenMpi && *value != kMpich) {
    throw UsageError({.message = "LOCKSTEP_MPI is not understood", .found = *value, .expected = "openmpi or mpich"});
  }
  return value;
}

}  // namespace

std::optional<std::string> launcher() {
  if (env::get("OMPI_COMM_WORLD_RANK")) return kOpenMpi;
  for (const char* name : {"PMI_RANK", "PMI_FD", "PALS_RANKID"}) {
    if (env::get(name)) return kMpich;
  }
  if (env::get("PMIX_RANK")) return kOpenMpi;
  return std::nullopt;
}

std::string choose(int ranks) {
  const auto in_process = loaded();
  const auto started_by = launcher();
  if (ranks > 1 && !in_process && !started_by) {
    throw UsageError({.message = "the backend mpi needs ranks that mpirun, mpiexec.hydra or srun started",
                      .found = "no variable of such a launcher",
                      .next = "mpirun -n " + std::to_string(ranks) + " PROGRAM, or another backend"});
  }
  if (const auto value = asked()) return *value;
  if (in_process) return *in_process;
  if (started_by) return *started_by;
  return !have_plugin("mpi_" + kOpenMpi) && have_plugin("mpi_" + kMpich) ? kMpich : kOpenMpi;
}

}  // namespace mpi

MadeBackend make_mpi(const BackendRequest& request) {
  return make_from_plugin("mpi_" + mpi::choose(request.rank.size), request);
}

}  // namespace lockstep::comm

// Where this process stands in its job, as the launcher that started it has written into the environment.
#pragma once
#include <optional>
#include <string>

#include <lockstep/base/rank.h>

namespace lockstep {

struct Placement {
  RankId rank;
  // What the launcher did not tell stays empty; `World` finds it out by asking the other ranks.
  std::optional<int> local_rank;
  std::optional<int> local_size;
  std::optional<int> node;
  std::string master_address;
  std::optional<int> master_port;
  std::string source;  // "lockstep run", "torchrun", "Open MPI", ... or "none: a single process"

  bool on_one_node() const { return local_size == rank.size; }  // as far as the launcher told
};

// `known` is what the program itself says and goes before everything else. Else reads the environment; the first source
// that is there gives the placement: RANK and WORLD_SIZE (lockstep run, torchrun, or set by hand), Open MPI, Hydra and
// other PMI launchers, PMIx, PALS, ALPS, Slurm. The variables of a Slurm allocation around a plain shell are no source:
// only those of a task that srun started are. aprun does not tell how many ranks there are: WORLD_SIZE must.
//
// RANK and WORLD_SIZE set by hand beside a launcher's own variables must agree with them, and Open MPI's with PMI's.
// Throws UsageError that names both variables and both values when they do not, or when a value makes no sense.
Placement discover_placement(const std::optional<RankId>& known = std::nullopt);

}  // namespace lockstep

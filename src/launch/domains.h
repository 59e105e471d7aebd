// Where on a machine ranks go, before anybody counts threads.
#pragma once
#include <vector>

#include <lockstep/launch/machine.h>

namespace lockstep::launch {

// Cores that belong together, and the ranks that are to use them.
struct Domain {
  std::vector<Core> cores;
  std::vector<int> ranks;

  int core_count() const { return static_cast<int>(cores.size()); }
  int rank_count() const { return static_cast<int>(ranks.size()); }
};

enum class Level { kNuma, kSocket };

// The domains of that level with their ranks: each rank beside its GPU when there is one for each of them, else in even
// blocks. Where there are fewer ranks than domains a rank gets several neighbours.
std::vector<Domain> place_ranks(const Machine& machine, int ranks, Level level);

// Domains in which every rank can have `share` cores of its own; those of one domain come after each other.
struct Division {
  std::vector<Domain> domains;
  int share = 0;  // 0: it cannot be done
};

// Into shares of exactly `wanted` cores, or as large ones as there can be when it is 0, but no smaller than `least`. No
// share has cores of two NUMA nodes unless it must.
Division divide_cores(const Machine& machine, int ranks, int wanted, int least);

}  // namespace lockstep::launch

// Which cores the ranks of a node get: planned from plain values, so that `--show-binding` and tests see what a run
// does.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <lockstep/base/table.h>
#include <lockstep/launch/machine.h>

namespace lockstep::launch {

enum class BindKind {
  kAuto,    // kCore where the ranks have the machine for themselves, else kNone
  kCore,    // a share of cores for each rank, alike in size, inside one NUMA node where that is possible
  kNuma,    // all cores of a NUMA node, together with the other ranks there
  kSocket,  // all cores of a socket, likewise
  kNone,    // the operating system's choice
  kMasks,   // those that the user lists
};

struct Bind {
  BindKind kind = BindKind::kAuto;
  std::vector<std::vector<int>> masks;  // for kMasks: the hardware threads of each local rank
};

// The word of `--bind`: auto, core, numa, socket, none, or "masks=0xff0,0xff00000", where bit i is the system's cpu i
// and brackets may stand round the masks, as in I_MPI_PIN_DOMAIN. Throws UsageError with the nearest name.
Bind parse_bind(const std::string& word);

struct BindingOptions {
  Bind bind;
  int threads = 0;           // of each rank; 0: one for each of its hardware threads
  int threads_per_core = 1;  // the hardware threads that are used of each core
  int cores_for_comm = 0;    // of each rank; nothing is computed on them
};

struct RankBinding {
  std::vector<int> cpus;        // the hardware threads to compute on, in order; empty: not bound
  std::vector<int> comm_cpus;   // those for communication: one for each of cores_for_comm
  std::vector<int> numa_nodes;  // that these are on
  int threads = 1;
  std::optional<int> gpu;  // that the rank finds as cuda:LOCAL_RANK; there is none where ranks are more than GPUs
};

struct NodeBinding {
  BindKind kind = BindKind::kNone;  // never kAuto
  int threads_per_core = 1;
  bool crowded = false;  // more threads than can run at the same time
  std::vector<RankBinding> ranks;
  std::vector<std::string> warnings;  // for the log
};

// Where local rank i has GPU i its cores are next to that GPU; other ranks are spread evenly over NUMA nodes.
//
// Throws UsageError when that many ranks, threads and cores for communication do not fit, in words with numbers, and
// when masks make no sense.
NodeBinding plan_binding(const Machine& machine, int local_ranks, const BindingOptions& options);

// One row for each rank; their numbers begin with `first_rank`.
Table binding_table(const NodeBinding& binding, int first_rank = 0);

}  // namespace lockstep::launch

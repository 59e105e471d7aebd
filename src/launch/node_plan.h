#pragma once
#include <string>
#include <vector>

#include <lockstep/launch/run.h>

#include "hosts.h"

namespace lockstep::launch {

// Which machines a job runs on, and how the launcher comes to them.
struct NodePlan {
  enum class Way {
    kAlone,  // this machine, and nothing listens beyond it
    kLead,   // others come by themselves to this one
    kJoin,   // this one comes to another
    kSsh,    // one ssh for each host that is not this one
    kSrun,   // one srun, inside a Slurm allocation
    kAprun,  // one aprun, inside a Cobalt allocation
  };
  Way way = Way::kAlone;
  int min = 1;
  int max = 1;
  int number = -1;          // this node's place, for kJoin
  std::vector<Host> hosts;  // for kSsh, kSrun and kAprun, in the order of their ranks
  std::string address;      // of the leader: to listen on, or to come to
  int port = 0;

  bool is_elastic() const { return min != max; }
};

// From the options, else from the scheduler's environment. Throws UsageError when they contradict each other.
NodePlan plan_nodes(const RunOptions& options);

// How many ranks each of `nodes` gets. Throws UsageError when the numbers do not fit.
struct NodeRoom {
  int told = 0;  // ranks that the list of hosts gives it; 0: none
  int gpus = 0;
};
std::vector<int> share_ranks(const RunOptions& options, const std::vector<NodeRoom>& nodes);

}  // namespace lockstep::launch

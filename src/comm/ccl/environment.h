// oneCCL and libfabric are told what to do through environment variables. What the user has set stays as it is.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::comm::ccl {

// What the variables depend on.
struct Surroundings {
  bool one_node = false;
  std::vector<int> cores;  // those that this rank may run on, in order; those for communication last
  std::optional<int> local_rank;
  std::optional<int> local_size;
  std::function<std::optional<std::string>(const std::string& name)> variable;
};

struct EnvironmentPlan {
  std::vector<std::pair<std::string, std::string>> variables;  // to be set
  std::vector<std::string> warnings;
};

// - The transport is libfabric's: shared memory on one node, where no port is opened; what libfabric chooses on
// several.
// - Reductions take the algorithms whose order does not depend on who comes first. oneCCL's own choice for all-reduces
// of
//   medium size does, and gives other bits in every run.
// - oneCCL starts no threads of its own: ours (worker.h) moves it, on this rank's own cores, and an error of the
// transport
//   is an exception there. In a thread of oneCCL's it would end the process.
// - A user who sets CCL_WORKER_OFFLOAD=1 gets workers, CCL_WORKER_COUNT of them, on cores of this rank's own mask;
// ranks
//   that share one mask get different cores of it as long as there are any. A CCL_WORKER_AFFINITY that puts a worker
//   outside the mask is obeyed, with a warning.
EnvironmentPlan plan_environment(const Surroundings& surroundings);

// Plans for this process and sets the variables. Call once, before oneCCL starts.
void prepare_environment(bool one_node);

}  // namespace lockstep::comm::ccl

// The variables by which the libraries in a rank learn of its cores.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/base/environment.h>
#include <lockstep/launch/binding.h>

namespace lockstep::launch {

struct KeptVariable {
  std::string name;
  std::string value;  // as the user has set it
  std::string ours;   // what it would have been
};

struct ThreadEnvironment {
  std::map<std::string, std::string> variables;  // to be set
  std::vector<KeptVariable> kept;                // those that the user has set to something else
};

// OMP_NUM_THREADS, MKL_NUM_THREADS, KMP_BLOCKTIME; for a rank whose cpus are its own KMP_AFFINITY; with cores for
// communication CCL_WORKER_COUNT, CCL_WORKER_AFFINITY and LOCKSTEP_COMM_CPUS. What the user has set stays as it is.
ThreadEnvironment thread_environment(
    const NodeBinding& node, int local_rank,
    const std::function<std::optional<std::string>(const std::string& name)>& user = env::get);

// "kept as you have set it: OMP_NUM_THREADS=7 (4 would fit)"; empty when nothing was kept.
std::string describe_kept(const std::vector<KeptVariable>& kept);

}  // namespace lockstep::launch

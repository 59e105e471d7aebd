#include "environment.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lockstep/base/comm_cpus.h>
#include <lockstep/base/cpu_list.h>
#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/placement.h>

namespace lockstep::comm::ccl {
namespace {

std::vector<int> usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof(mask), &mask) != 0) throw system_error("cannot read the affinity mask", errno);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  const std::vector<int> kept_for_us = comm_cpus();
  cores.insert(cores.end(), kept_for_us.begin(), kept_for_us.end());
  return cores;
}

int to_number(const std::string& text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

class Planner {
 public:
  explicit Planner(const Surroundings& surroundings) : around_(surroundings) {}

  EnvironmentPlan plan() {
    set("CCL_ATL_TRANSPORT", "ofi");
    set("CCL_ATL_SHM", "1");
    set("CCL_OFI_LIBRARY_PATH", "libfabric.so.1");
    if (around_.one_node) set("FI_PROVIDER", "shm");
    set("CCL_LOG_LEVEL", "error");
    set("CCL_ALLREDUCE", "recursive_doubling:0-8192;ring:8193-max");
    set("CCL_REDUCE", "rabenseifner");
    set("CCL_REDUCE_SCATTER", "ring");
    set("CCL_WORKER_OFFLOAD", "0");
    if (around_.variable("CCL_WORKER_OFFLOAD").value_or("0") != "0") {
      place_workers();
    } else if (around_.variable("CCL_WORKER_AFFINITY")) {  // nobody goes there, but oneCCL counts
      sit_among_others();
    } else {
      sit_alone("");
    }
    return std::move(plan_);
  }

 private:
  void set(const std::string& name, const std::string& value) {
    if (!around_.variable(name)) plan_.variables.emplace_back(name, value);
  }

  // oneCCL expects one list with the cores of all ranks of the node, and takes this rank's part of it. A rank that says
  // that it is the only one needs to know its own cores only.
  void sit_alone(const std::string& affinity) {
    set("CCL_PROCESS_LAUNCHER", "none");
    set("CCL_LOCAL_RANK", "0");
    set("CCL_LOCAL_SIZE", "1");
    if (!affinity.empty()) set("CCL_WORKER_AFFINITY", affinity);
  }

  void sit_among_others() {
    if (!around_.local_rank || !around_.local_size) return;
    set("CCL_PROCESS_LAUNCHER", "none");
    set("CCL_LOCAL_RANK", std::to_string(*around_.local_rank));
    set("CCL_LOCAL_SIZE", std::to_string(*around_.local_size));
  }

  void place_workers() {
    plan_.warnings.emplace_back(
        "CCL_WORKER_OFFLOAD is set: when a rank is lost, oneCCL's workers end this process without an error message");
    const int count = std::max(1, to_number(around_.variable("CCL_WORKER_COUNT").value_or("1")));
    if (const auto affinity = around_.variable("CCL_WORKER_AFFINITY")) {
      sit_among_others();
      // What cannot be read is left to oneCCL to refuse.
      check_affinity(parse_cpu_list(*affinity).value_or(std::vector<int>{}), count);
      return;
    }
    std::vector<int> chosen;
    for (int worker = 0; worker < count; ++worker) chosen.push_back(own_core(worker, count));
    sit_alone(fmt::format("{}", fmt::join(chosen, ",")));
  }

  // From the mask's end: most programs put their first threads at its beginning.
  int own_core(int worker, int count) const {
    const auto size = static_cast<int>(around_.cores.size());
    const int place = (around_.local_rank.value_or(0) * count + worker) % size;
    return around_.cores[static_cast<std::size_t>(size - 1 - place)];
  }

  void check_affinity(const std::vector<int>& listed, int count) {
    const auto first = static_cast<std::size_t>(around_.local_rank.value_or(0) * count);
    for (std::size_t i = first; i < std::min(listed.size(), first + static_cast<std::size_t>(count)); ++i) {
      if (std::find(around_.cores.begin(), around_.cores.end(), listed[i]) != around_.cores.end()) continue;
      plan_.warnings.push_back(
          fmt::format("CCL_WORKER_AFFINITY puts a worker of this rank on core {}, but the rank runs on {}: the worker "
                      "may take another rank's time; unset it and it is placed within the rank's own cores",
                      listed[i], fmt::join(around_.cores, ",")));
      return;
    }
  }

  const Surroundings& around_;
  EnvironmentPlan plan_;
};

}  // namespace

EnvironmentPlan plan_environment(const Surroundings& surroundings) {
  return Planner(surroundings).plan();
}

void prepare_environment(bool one_node) {
  const Placement placement = discover_placement();
  const EnvironmentPlan plan = plan_environment({.one_node = one_node,
                                                 .cores = usable_cores(),
                                                 .local_rank = placement.local_rank,
                                                 .local_size = placement.local_size,
                                                 .variable = env::get});
  for (const std::string& warning : plan.warnings) log::warning("{}", warning);
  for (const auto& [name, value] : plan.variables) ::setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace lockstep::comm::ccl

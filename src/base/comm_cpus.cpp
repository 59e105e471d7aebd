#include <lockstep/base/comm_cpus.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/affinity_mask.h>
#include <lockstep/base/cpu_list.h>
#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>
#include <lockstep/base/topology.h>

namespace lockstep {
namespace {

constexpr const char* kVariable = "LOCKSTEP_COMM_CPUS";
constexpr const char* kNumber = "LOCKSTEP_CORES_FOR_COMM";

}  // namespace

void divide_cpus() {
  const auto wanted = env::get_int(kNumber, 0, 1 << 16);
  if (!wanted || *wanted == 0 || env::get(kVariable)) return;
  const std::vector<Core> cores = read_topology().usable;
  if (std::cmp_less_equal(cores.size(), *wanted)) {
    throw UsageError({.message = "there are too few cores to keep some for communication",
                      .found = fmt::format("{}={}, and this rank may use {}", kNumber, *wanted,
                                           format_plural(static_cast<std::int64_t>(cores.size()), "core")),
                      .expected = "fewer than the rank has"});
  }
  const auto first = cores.size() - static_cast<std::size_t>(*wanted);
  std::vector<int> compute, communicate;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (i >= first) {
      communicate.push_back(cores[i].cpus.front());
    } else {
      compute.insert(compute.end(), cores[i].cpus.begin(), cores[i].cpus.end());
    }
  }
  if (const int error = AffinityMask(compute).apply(); error != 0) {
    throw system_error("cannot keep cores for communication", error);
  }
  ::setenv(kVariable, format_cpu_list(communicate).c_str(), 1);
}

std::vector<int> comm_cpus() {
  const auto text = env::get(kVariable);
  if (!text) return {};
  const auto cpus = parse_cpu_list(*text);
  if (cpus) return *cpus;
  throw UsageError({.message = std::string("environment variable ") + kVariable + " is not understood",
                    .found = "'" + *text + "'",
                    .expected = "a list of cpus, such as 24-27",
                    .next = std::string("correct it, or unset ") + kVariable});
}

void move_to_comm_cpus() {
  const std::vector<int> cpus = comm_cpus();
  if (const int error = AffinityMask(cpus).apply(); error != 0) {
    log::warning("{}={}: a thread for communication cannot go there: {}", kVariable, format_cpu_list(cpus),
                 std::strerror(error));
  }
}

}  // namespace lockstep

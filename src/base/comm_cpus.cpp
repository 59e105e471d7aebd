#include <lockstep/base/comm_cpus.h>

#include <cstring>

#include <lockstep/base/affinity_mask.h>
#include <lockstep/base/cpu_list.h>
#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>

namespace lockstep {
namespace {

constexpr const char* kVariable = "LOCKSTEP_COMM_CPUS";

}  // namespace

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

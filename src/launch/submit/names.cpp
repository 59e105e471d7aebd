#include <array>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/launch/submit.h>

#include "../program.h"

namespace lockstep::launch {
namespace {

template <typename Value>
struct Named {
  Value value;
  const char* name;
};

constexpr std::array kSchedulers = {Named<Scheduler>{Scheduler::kSlurm, "slurm"},
                                    Named<Scheduler>{Scheduler::kPbs, "pbs"},
                                    Named<Scheduler>{Scheduler::kCobalt, "cobalt"}};

// A command that this scheduler has and the others have not: PBS and Cobalt both have a qsub.
constexpr std::array kCommands = {Named<Scheduler>{Scheduler::kSlurm, "sbatch"},
                                  Named<Scheduler>{Scheduler::kPbs, "pbsnodes"},
                                  Named<Scheduler>{Scheduler::kCobalt, "nodelist"}};

constexpr std::array kStarters = {Named<Starter>{Starter::kSrun, "srun"}, Named<Starter>{Starter::kMpiexec, "mpiexec"},
                                  Named<Starter>{Starter::kPals, "pals"}, Named<Starter>{Starter::kAprun, "aprun"},
                                  Named<Starter>{Starter::kRun, "run"}};

template <typename Value, std::size_t N>
Value find(const char* flag, const std::array<Named<Value>, N>& known, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [value, known_name] : known) {
    if (name == known_name) return value;
    names.emplace_back(known_name);
  }
  throw UsageError({.message = fmt::format("{} is unknown{}", flag, did_you_mean(name, names)),
                    .found = fmt::format("'{}'", name),
                    .expected = fmt::format("{}", fmt::join(names, ", "))});
}

bool is_in_path(const std::string& command) {
  try {
    find_program(command);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

Scheduler find_scheduler(const std::string& name) {
  if (!name.empty()) return find("--scheduler", kSchedulers, name);
  std::vector<Named<Scheduler>> here;
  for (const auto& known : kCommands) {
    if (is_in_path(known.name)) here.push_back(known);
  }
  if (here.size() == 1) return here.front().value;
  throw UsageError({.message = here.empty() ? "no scheduler was found" : "several schedulers are here",
                    .found = here.empty()
                                 ? "neither sbatch of Slurm, nor pbsnodes of PBS, nor nodelist of Cobalt is in PATH"
                                 : fmt::format("{} and {} are in PATH", here[0].name, here[1].name),
                    .next = "name yours: --scheduler slurm, pbs or cobalt"});
}

Starter find_starter(const std::string& name) {
  return find("--start", kStarters, name);
}

}  // namespace lockstep::launch

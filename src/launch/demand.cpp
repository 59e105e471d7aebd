#include "demand.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/text.h>

namespace lockstep::launch {
namespace {

constexpr int kMostRanks = 1 << 16;

void check(const Machine& machine, const Demand& demand) {
  if (demand.ranks < 1 || demand.ranks > kMostRanks) {
    throw UsageError({.message = "the number of ranks makes no sense",
                      .found = std::to_string(demand.ranks),
                      .expected = fmt::format("1 to {}", kMostRanks)});
  }
  std::size_t most = 0;
  for (const Core& core : machine.cores) most = std::max(most, core.cpus.size());
  if (std::cmp_greater(demand.options.threads_per_core, most)) {
    throw UsageError({.message = "--threads-per-core is more than the cores have",
                      .found = std::to_string(demand.options.threads_per_core),
                      .expected = fmt::format("at most {}", most)});
  }
  if (demand.options.bind.kind == BindKind::kNone && demand.options.cores_for_comm > 0) {
    throw UsageError({.message = "--cores-for-comm needs ranks that are bound, and --bind none leaves them free",
                      .next = "--bind core"});
  }
}

}  // namespace

int Demand::compute_cores() const {
  const int per_core = options.threads_per_core;
  return options.threads == 0 ? 1 : (options.threads + per_core - 1) / per_core;
}

UsageError Demand::exceeds(int ranks_there, std::size_t cores_there, const std::string& where) const {
  const int comm = options.cores_for_comm;
  const std::string each =
      comm > 0 ? fmt::format("({} + {} cores)", compute_cores(), comm) : format_plural(compute_cores(), "core");
  return UsageError(
      {.message = fmt::format("{} x {} = {}, and {} has {}", format_plural(ranks_there, "rank"), each,
                              format_plural(std::int64_t{ranks_there} * cores_of_rank(), "core"), where, cores_there),
       .next =
           comm > 0 ? "ask for fewer ranks, threads or cores for communication" : "ask for fewer ranks or threads"});
}

BindKind choose_kind(const Machine& machine, const Demand& demand) {
  check(machine, demand);
  const BindingOptions& options = demand.options;
  if (options.bind.kind != BindKind::kAuto) return options.bind.kind;
  if (options.cores_for_comm > 0) return BindKind::kCore;  // which is a wish to be bound
  const auto cores = static_cast<int>(machine.cores.size());
  const bool takes_all_cores = options.threads == 0 || std::int64_t{demand.ranks} * demand.cores_of_rank() == cores;
  const bool takes_all_gpus = std::cmp_greater_equal(demand.ranks, machine.gpus.size()) && machine.hidden_gpus == 0;
  const bool has_all_the_time = machine.busy_cores() == cores;
  const bool has_the_machine = takes_all_cores && takes_all_gpus && has_all_the_time;
  return demand.ranks > 1 && demand.ranks <= cores && has_the_machine ? BindKind::kCore : BindKind::kNone;
}

}  // namespace lockstep::launch

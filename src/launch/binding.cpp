#include <lockstep/launch/binding.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/text.h>

#include "demand.h"
#include "domains.h"
#include "mask_check.h"

namespace lockstep::launch {
namespace {

constexpr int kAllOfThem = std::numeric_limits<int>::max();

// The first hardware threads of each core, `per_core` of them or fewer where there are fewer.
std::vector<int> cpus_of(std::span<const Core> cores, int per_core) {
  std::vector<int> cpus;
  for (const Core& core : cores) {
    const auto count = std::min(std::ssize(core.cpus), std::ptrdiff_t{per_core});
    cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.begin() + count);
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

class Planner {
 public:
  Planner(const Machine& machine, const Demand& demand)
      : machine_(machine),
        demand_(demand),
        per_core_(demand.options.threads_per_core),
        comm_(static_cast<std::size_t>(demand.options.cores_for_comm)) {
    plan_.kind = choose_kind(machine, demand);
    plan_.threads_per_core = per_core_;
    plan_.ranks.resize(static_cast<std::size_t>(demand.ranks));
  }

  NodeBinding plan() {
    if (plan_.kind == BindKind::kCore) give_shares();
    if (plan_.kind == BindKind::kNuma) share_domains(Level::kNuma, "their NUMA node");
    if (plan_.kind == BindKind::kSocket) share_domains(Level::kSocket, "their socket");
    if (plan_.kind == BindKind::kMasks) obey_masks();
    if (plan_.kind == BindKind::kNone) leave_free();
    add_gpus();
    look_for_crowds();
    return std::move(plan_);
  }

 private:
  void give_shares() {
    const int wanted = demand_.options.threads == 0 ? 0 : demand_.cores_of_rank();
    const Division division = divide_cores(machine_, demand_.ranks, wanted, demand_.cores_of_rank());
    if (division.share == 0) throw demand_.exceeds(demand_.ranks, machine_.cores.size(), "the machine");
    const auto share = static_cast<std::size_t>(division.share);
    for (const Domain& domain : division.domains) {
      std::span<const Core> left = domain.cores;
      for (const int rank : domain.ranks) {
        const auto cpus = cpus_of(left.first(share - comm_), per_core_);
        assign(rank, cpus, left.subspan(share - comm_, comm_), static_cast<int>(cpus.size()));
        left = left.subspan(share);
      }
    }
  }

  // The last cores of a domain are for communication, those of its first rank first; its ranks share the others.
  void share_domains(Level level, const std::string& name) {
    const bool must_fit = demand_.options.threads > 0 || comm_ > 0;
    for (const Domain& domain : place_ranks(machine_, demand_.ranks, level)) {
      const int ranks = domain.rank_count();
      if (must_fit && std::int64_t{ranks} * demand_.cores_of_rank() > domain.core_count()) {
        throw demand_.exceeds(ranks, domain.cores.size(), name);
      }
      std::span<const Core> for_comm = std::span(domain.cores).last(comm_ * domain.ranks.size());
      const auto cpus = cpus_of(std::span(domain.cores).first(domain.cores.size() - for_comm.size()), per_core_);
      for (const int rank : domain.ranks) {
        assign(rank, cpus, for_comm.first(comm_), std::max(1, static_cast<int>(cpus.size()) / ranks));
        for_comm = for_comm.subspan(comm_);
      }
    }
  }

  // A rank gets what its mask has, also of hardware threads; threads_per_core only counts threads.
  void obey_masks() {
    const auto& masks = demand_.options.bind.masks;
    check_masks(machine_, demand_.ranks, masks, plan_.warnings);
    for (int rank = 0; rank < demand_.ranks; ++rank) {
      const auto cores = cores_of_mask(machine_, masks[static_cast<std::size_t>(rank)]);
      if (std::cmp_less(cores.size(), demand_.cores_of_rank())) {
        throw demand_.exceeds(1, cores.size(), fmt::format("mask {}", rank));
      }
      const auto compute = std::span(cores).first(cores.size() - comm_);
      const auto threads = static_cast<int>(cpus_of(compute, per_core_).size());
      assign(rank, cpus_of(compute, kAllOfThem), std::span(cores).last(comm_), threads);
    }
  }

  void leave_free() {
    for (int rank = 0; rank < demand_.ranks; ++rank) assign(rank, {}, {}, fair_threads());
  }

  // `threads` are those that fit there; the user may have asked for others.
  void assign(int rank, const std::vector<int>& cpus, std::span<const Core> for_comm, int threads) {
    RankBinding& binding = plan_.ranks[static_cast<std::size_t>(rank)];
    binding.cpus = cpus;
    binding.comm_cpus = cpus_of(for_comm, 1);
    binding.threads = demand_.options.threads;
    const bool has_quota = std::cmp_less(machine_.busy_cores(), machine_.cores.size());
    if (binding.threads == 0) binding.threads = has_quota ? std::min(threads, fair_threads()) : threads;
    for (const Core& core : cores_of_mask(machine_, cpus)) {
      auto& nodes = binding.numa_nodes;
      if (std::find(nodes.begin(), nodes.end(), core.numa_node) == nodes.end()) nodes.push_back(core.numa_node);
    }
  }

  void add_gpus() {
    if (std::cmp_greater(demand_.ranks, machine_.gpus.size())) return;
    for (int rank = 0; rank < demand_.ranks; ++rank) plan_.ranks[static_cast<std::size_t>(rank)].gpu = rank;
  }

  void look_for_crowds() {
    const int cores = machine_.busy_cores();
    std::int64_t threads = 0;
    for (const RankBinding& rank : plan_.ranks) threads += rank.threads;
    plan_.crowded = threads > std::int64_t{cores} * per_core_;
    if (demand_.ranks <= cores) return;
    plan_.warnings.push_back(fmt::format("{} on {}: they will take turns", format_plural(demand_.ranks, "rank"),
                                         format_plural(cores, "core")));
  }

  // A rank's part of all threads that can be busy at the same time.
  int fair_threads() const { return std::max(1, machine_.busy_cores() * per_core_ / demand_.ranks); }

  const Machine& machine_;
  const Demand& demand_;
  const int per_core_;
  const std::size_t comm_;  // cores of each rank for communication
  NodeBinding plan_;
};

}  // namespace

NodeBinding plan_binding(const Machine& machine, int local_ranks, const BindingOptions& options) {
  const Demand demand{.ranks = local_ranks, .options = options};
  return Planner(machine, demand).plan();
}

}  // namespace lockstep::launch

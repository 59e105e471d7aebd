#include "domains.h"

#include <algorithm>
#include <utility>

namespace lockstep::launch {
namespace {

std::vector<Domain> split_by(const std::vector<Core>& cores, Level level) {
  std::vector<std::pair<int, Domain>> domains;
  for (const Core& core : cores) {
    const int number = level == Level::kNuma ? core.numa_node : core.package;
    auto found = std::find_if(domains.begin(), domains.end(), [&](const auto& d) { return d.first == number; });
    if (found == domains.end()) found = domains.insert(domains.end(), {number, Domain{}});
    found->second.cores.push_back(core);
  }
  std::vector<Domain> result;
  for (auto& [number, domain] : domains) result.push_back(std::move(domain));
  return result;
}

std::vector<Domain> join_neighbours(const std::vector<Domain>& domains, int count) {
  std::vector<Domain> joined(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < domains.size(); ++i) {
    auto& cores = joined[i * joined.size() / domains.size()].cores;
    cores.insert(cores.end(), domains[i].cores.begin(), domains[i].cores.end());
  }
  return joined;
}

// As many domains as can have a rank each.
std::vector<Domain> split_for(const std::vector<Core>& cores, int ranks, Level level) {
  auto domains = split_by(cores, level);
  return std::cmp_less(ranks, domains.size()) ? join_neighbours(domains, ranks) : domains;
}

bool is_near(const Domain& domain, const NearGpu& gpu) {
  return std::any_of(domain.cores.begin(), domain.cores.end(), [&](const Core& core) {
    return std::find(gpu.cpus.begin(), gpu.cpus.end(), core.cpus.front()) != gpu.cpus.end();
  });
}

// Rank i beside GPU i. Of several domains that are equally near, or when nothing is known, the one with the fewest
// ranks.
std::vector<Domain> place_beside_gpus(const Machine& machine, int ranks, Level level) {
  auto domains = split_by(machine.cores, level);
  for (int rank = 0; rank < ranks; ++rank) {
    const NearGpu& gpu = machine.gpus[static_cast<std::size_t>(rank)];
    const auto best = std::min_element(domains.begin(), domains.end(), [&](const Domain& a, const Domain& b) {
      return std::pair(!is_near(a, gpu), a.rank_count()) < std::pair(!is_near(b, gpu), b.rank_count());
    });
    best->ranks.push_back(rank);
  }
  return domains;
}

bool has_gpu_for_each(const Machine& machine, int ranks) {
  return !machine.gpus.empty() && std::cmp_less_equal(ranks, machine.gpus.size());
}

int capacity(const std::vector<Domain>& domains, int share) {
  int count = 0;
  for (const Domain& domain : domains) count += domain.core_count() / share;
  return count;
}

// Evenly as far as each has room for another share; in blocks, so that neighbours are near each other.
void fill(std::vector<Domain>& domains, int ranks, int share) {
  std::vector<int> counts(domains.size());
  for (int placed = 0; placed < ranks; ++placed) {
    std::size_t best = domains.size();
    for (std::size_t i = 0; i < domains.size(); ++i) {
      const bool has_room = counts[i] < domains[i].core_count() / share;
      if (has_room && (best == domains.size() || counts[i] < counts[best])) best = i;
    }
    ++counts[best];
  }
  int rank = 0;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    while (counts[i]-- > 0) domains[i].ranks.push_back(rank++);
  }
}

// The largest share, or the wanted one, that `ranks` ranks can have inside domains; 0 when there is none.
int find_share(const std::vector<Domain>& domains, int ranks, int wanted, int least, int cores) {
  if (wanted > 0) return capacity(domains, wanted) >= ranks ? wanted : 0;
  int share = cores / ranks;
  while (share >= least && capacity(domains, share) < ranks) --share;
  return share >= least ? share : 0;
}

// The share that ranks which are placed already can have.
int share_beside_gpus(const std::vector<Domain>& domains, int wanted, int least, int cores) {
  int largest = cores;
  for (const Domain& domain : domains) {
    if (domain.rank_count() > 0) largest = std::min(largest, domain.core_count() / domain.rank_count());
  }
  const int share = wanted > 0 ? wanted : largest;
  return share >= least && share <= largest ? share : 0;
}

}  // namespace

std::vector<Domain> place_ranks(const Machine& machine, int ranks, Level level) {
  if (has_gpu_for_each(machine, ranks)) return place_beside_gpus(machine, ranks, level);
  auto domains = split_for(machine.cores, ranks, level);
  for (int rank = 0; rank < ranks; ++rank) {
    domains[static_cast<std::size_t>(rank) * domains.size() / static_cast<std::size_t>(ranks)].ranks.push_back(rank);
  }
  return domains;
}

Division divide_cores(const Machine& machine, int ranks, int wanted, int least) {
  const auto cores = static_cast<int>(machine.cores.size());
  if (has_gpu_for_each(machine, ranks)) {
    auto domains = place_beside_gpus(machine, ranks, Level::kNuma);
    if (const int share = share_beside_gpus(domains, wanted, least, cores); share > 0)
      return {std::move(domains), share};
  }
  auto domains = split_for(machine.cores, ranks, Level::kNuma);
  int share = find_share(domains, ranks, wanted, least, cores);
  if (share == 0) {  // then without regard to NUMA nodes
    domains = join_neighbours(domains, 1);
    share = find_share(domains, ranks, wanted, least, cores);
  }
  if (share > 0) fill(domains, ranks, share);
  return {std::move(domains), share};
}

}  // namespace lockstep::launch

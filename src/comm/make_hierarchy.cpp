#include <algorithm>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <lockstep/base/errors.h>

#include "hierarchy.h"
#include "local/store_meeting.h"

namespace lockstep::comm {
namespace {

std::unique_ptr<Engine> make_inside(const BackendRequest& request, const std::vector<int>& nodes) {
  const auto self = static_cast<std::size_t>(request.rank.rank);
  const int node = nodes[self];
  const RankId rank{static_cast<int>(std::count(nodes.begin(), nodes.begin() + request.rank.rank, node)),
                    static_cast<int>(std::count(nodes.begin(), nodes.end(), node))};
  const auto store = c10::make_intrusive<c10d::PrefixStore>(fmt::format("node{}/", node), request.store);
  const Operation joining{.name = "joining the shared memory"};
  return make_local_engine(rank, meet_at(store), OperationPatience(joining, request.timeout, *request.watch));
}

// Among the first rank of each node; nothing on other ranks.
c10::intrusive_ptr<c10d::Backend> make_between(const std::string& network, const BackendRequest& request,
                                               const std::vector<int>& nodes) {
  std::vector<int> leaders;  // in the order of nodes, because these are numbered by their first ranks
  for (int rank = 0; rank < request.rank.size; ++rank) {
    if (nodes[static_cast<std::size_t>(rank)] == static_cast<int>(leaders.size())) leaders.push_back(rank);
  }
  const auto place = std::find(leaders.begin(), leaders.end(), request.rank.rank);
  if (place == leaders.end()) return nullptr;
  BackendRequest between = request;
  between.store = c10::make_intrusive<c10d::PrefixStore>("leaders/", request.store);
  between.rank = {static_cast<int>(place - leaders.begin()), static_cast<int>(leaders.size())};
  between.watch = request.watch->make_part("leaders", leaders);
  between.world_ranks.clear();
  for (const int rank : leaders) between.world_ranks.push_back(request.world_ranks[static_cast<std::size_t>(rank)]);
  return make_backend(network, between).backend;
}

}  // namespace

MadeBackend make_hierarchy(const std::string& network, const BackendRequest& request) {
  if (request.hosts.empty()) {
    throw UsageError({.message = fmt::format("local+{}: it is not known which ranks share a node", network),
                      .next = "let ranks meet in another way than at a store of PyTorch's"});
  }
  const std::vector<int> nodes = number_nodes(request.hosts);
  BackendRequest flat = request;
  flat.store = c10::make_intrusive<c10d::PrefixStore>("flat/", request.store);
  Hierarchy::Parts parts{.name = "local+" + network,
                         .flat = make_backend(network, flat).backend,
                         .between = make_between(network, request, nodes),
                         .inside = make_inside(request, nodes),
                         .node_of_rank = nodes};
  return {c10::make_intrusive<Hierarchy>(request, std::move(parts)), c10d::ProcessGroup::BackendType::CUSTOM};
}

}  // namespace lockstep::comm

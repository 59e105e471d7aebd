#include "group_context.h"

#include <algorithm>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include "backend.h"
#include "guard.h"

namespace lockstep::comm {
namespace {

bool on_one_host(const GroupContext& context) {
  const auto host_of = [&](int rank) { return context.hosts[static_cast<std::size_t>(rank)]; };
  return std::all_of(context.world_ranks.begin(), context.world_ranks.end(),
                     [&](int rank) { return host_of(rank) == host_of(context.world_ranks.front()); });
}

}  // namespace

void connect(GroupContext& context, RankId rank) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(context.store, rank.rank, rank.size);
  const BackendRequest request{.store = c10::make_intrusive<c10d::PrefixStore>("cpu/", context.store),
                               .rank = rank,
                               .interface_address = context.interface_address,
                               .timeout = context.timeout,
                               .loss = context.loss,
                               .one_node = on_one_host(context)};
  const MadeBackend made = guarded("connecting the ranks", [&] { return make_backend(context.backend, request); });
  group->setBackend(c10::DeviceType::CPU, made.type, made.backend);
  group->setDefaultBackend(made.type);
  context.process_group = std::move(group);
}

}  // namespace lockstep::comm

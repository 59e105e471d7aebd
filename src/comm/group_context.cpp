#include "group_context.h"

#include <algorithm>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

#include <lockstep/base/log.h>

#include "backend.h"
#include "guard.h"

namespace lockstep {

GroupContext::~GroupContext() {
  if (!process_group) return;
  try {
    process_group->shutdown();
  } catch (const std::exception& error) {
    log::debug("closing a group: {}", error.what());
  }
}

namespace comm {
namespace {

bool on_one_host(const GroupContext& context) {
  const auto host_of = [&](int rank) { return context.hosts[static_cast<std::size_t>(rank)]; };
  return std::all_of(context.world_ranks.begin(), context.world_ranks.end(),
                     [&](int rank) { return host_of(rank) == host_of(context.world_ranks.front()); });
}

}  // namespace

std::shared_ptr<GroupContext> make_subcontext(GroupContext& parent, const std::vector<int>& ranks) {
  auto context = std::make_shared<GroupContext>();
  context->backend = parent.backend;
  context->store = c10::make_intrusive<c10d::PrefixStore>(fmt::format("group{}/", parent.subgroups), parent.store);
  for (const int rank : ranks) context->world_ranks.push_back(parent.world_ranks[static_cast<std::size_t>(rank)]);
  context->hosts = parent.hosts;
  context->interface_address = parent.interface_address;
  context->timeout = parent.timeout;
  context->loss = parent.loss;
  context->life_line = parent.life_line;
  return context;
}

void connect(GroupContext& context, RankId rank) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(context.store, rank.rank, rank.size);
  const auto add = [&](c10::DeviceType device, const std::string& prefix, const std::string& name) {
    const BackendRequest request{.store = c10::make_intrusive<c10d::PrefixStore>(prefix, context.store),
                                 .rank = rank,
                                 .interface_address = context.interface_address,
                                 .timeout = context.timeout,
                                 .loss = context.loss,
                                 .one_node = on_one_host(context),
                                 .world_ranks = context.world_ranks};
    const MadeBackend made = guarded("connecting the ranks", [&] { return make_backend(name, request); });
    group->setBackend(device, made.type, made.backend);
    group->setDefaultBackend(made.type);
  };
  // A job with GPUs has a backend for CPU tensors too, as PyTorch's cpu:gloo,cuda:nccl.
  const bool gpu = context.backend == "nccl";
  add(c10::DeviceType::CPU, "cpu/", gpu ? "auto" : context.backend);
  if (gpu) add(c10::DeviceType::CUDA, "cuda/", context.backend);
  context.process_group = std::move(group);
}

}  // namespace comm
}  // namespace lockstep

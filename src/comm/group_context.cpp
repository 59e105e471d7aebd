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

std::vector<std::string> hosts_of(const GroupContext& context) {
  std::vector<std::string> hosts;
  if (context.hosts.empty()) return hosts;  // not known
  for (const int rank : context.world_ranks) hosts.push_back(context.hosts[static_cast<std::size_t>(rank)]);
  return hosts;
}

std::shared_ptr<Watch> make_watch(const GroupContext& context, RankId rank) {
  Watch::Options options{.group = context.name,
                         .world_ranks = context.world_ranks,
                         .loss = context.loss,
                         .monitor = context.monitor,
                         .agreement = nullptr};
  if (rank.size > 1 && debug_collectives()) {
    options.agreement = std::make_shared<Agreement>(c10::make_intrusive<c10d::PrefixStore>("agreement/", context.store),
                                                    rank, context.timeout, context.loss);
  }
  return std::make_shared<Watch>(std::move(options));
}

}  // namespace

std::shared_ptr<GroupContext> make_subcontext(GroupContext& parent, const std::vector<int>& ranks) {
  auto context = std::make_shared<GroupContext>();
  context->name = fmt::format("{}/{}", parent.name, parent.subgroups);
  context->backend = parent.backend;
  context->store = c10::make_intrusive<c10d::PrefixStore>(fmt::format("group{}/", parent.subgroups), parent.store);
  for (const int rank : ranks) context->world_ranks.push_back(parent.world_ranks[static_cast<std::size_t>(rank)]);
  context->hosts = parent.hosts;
  context->interface_address = parent.interface_address;
  context->timeout = parent.timeout;
  context->loss = parent.loss;
  context->life_line = parent.life_line;
  context->monitor = parent.monitor;
  context->farewell = parent.farewell;
  return context;
}

void connect(GroupContext& context, RankId rank) {
  context.watch = make_watch(context, rank);
  auto group = c10::make_intrusive<c10d::ProcessGroup>(context.store, rank.rank, rank.size);
  const auto add = [&](c10::DeviceType device, const std::string& prefix, const std::string& name) {
    const BackendRequest request{.store = c10::make_intrusive<c10d::PrefixStore>(prefix, context.store),
                                 .rank = rank,
                                 .interface_address = context.interface_address,
                                 .timeout = context.timeout,
                                 .watch = context.watch,
                                 .world_ranks = context.world_ranks,
                                 .hosts = hosts_of(context)};
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

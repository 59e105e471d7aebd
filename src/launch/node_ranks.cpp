#include "node_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/rendezvous_server.h>
#include <lockstep/base/text.h>
#include <lockstep/base/version.h>
#include <lockstep/launch/thread_environment.h>

#include "../base/host_name.h"
#include "program.h"
#include "rank_environment.h"

namespace lockstep::launch {
namespace {

void enter(const std::string& folder) {
  if (folder.empty() || ::chdir(folder.c_str()) == 0) return;
  const int error = errno;
  throw UsageError({.message = fmt::format("the folder '{}' cannot be entered on {}: {}", folder, host_name(),
                                           system_error("chdir", error).what()),
                    .next = "start the job from a folder that all nodes have"});
}

// Between nodes, ranks use the network by which the nodes found each other; a host's name may not even be known there.
Variables network_variables(const std::string& address) {
  Variables variables;
  const std::string interface = interface_of(address);
  for (const char* name : {"LOCKSTEP_INTERFACE", "GLOO_SOCKET_IFNAME"}) {
    if (!interface.empty() && !env::get(name)) variables[name] = interface;
  }
  return variables;
}

}  // namespace

NodeRanks::NodeRanks(const Token& token, EventLoop& loop, RankListener& listener)
    : loop_(loop), listener_(listener), token_file_(token.to_memfd()), machine_(read_machine()) {}

NodeInfo NodeRanks::info() const {
  return {.version = version(),
          .host = host_name(),
          .pid = ::getpid(),
          .gpus = static_cast<int>(machine_.gpus.size()),
          .port = port_.number()};
}

void NodeRanks::start(const NodeAssignment& assignment, const std::string& address, int in) {
  ranks_.clear();
  enter(assignment.folder);
  const std::filesystem::path program = find_program(assignment.command.front());
  const NodeBinding binding = plan_binding(machine_, assignment.ranks, assignment.binding);
  for (const std::string& warning : binding.warnings) log::warning("{}", warning);
  const auto said_by_user = [&](const std::string& name) {
    const auto found = assignment.environment.find(name);
    return found != assignment.environment.end() ? std::optional(found->second) : env::get(name);
  };
  try {
    for (int local = 0; local < assignment.ranks; ++local) {
      const int rank = assignment.first_rank + local;
      ChildOptions child{.program = program, .command = assignment.command, .in = rank == 0 ? in : -1};
      child.environment = place_variables({.rank = rank,
                                           .size = assignment.size,
                                           .local_rank = local,
                                           .local_size = assignment.ranks,
                                           .node = assignment.node,
                                           .nodes = assignment.nodes,
                                           .master_address = assignment.master_address,
                                           .master_port = assignment.master_port,
                                           .restarts = assignment.restarts,
                                           .max_restarts = assignment.max_restarts,
                                           .job = assignment.job,
                                           .rendezvous = assignment.rendezvous,
                                           .token_fd = token_file_.get()});
      child.affinity = AffinityMask(binding.ranks[static_cast<std::size_t>(local)].cpus);
      ThreadEnvironment threads = thread_environment(binding, local, said_by_user);
      child.environment.merge(threads.variables);
      if (rank == 0 && !threads.kept.empty()) log::info("{}", describe_kept(threads.kept));
      if (assignment.nodes > 1) child.environment.merge(network_variables(address));
      for (const auto& [name, value] : assignment.environment) child.environment[name] = value;
      child.inherited = {token_file_.get()};
      ranks_.push_back(std::make_unique<RankProcess>(
          RankProcessOptions{
              .rank = rank, .child = std::move(child), .heartbeat = std::chrono::seconds(assignment.heartbeat)},
          loop_, listener_));
    }
  } catch (const Error&) {
    ranks_.clear();
    throw;
  }
}

void NodeRanks::signal(int number) {
  for (const auto& rank : ranks_) rank->signal(number);
}

void NodeRanks::read_output(bool on) {
  for (const auto& rank : ranks_) rank->read_output(on);
}

bool NodeRanks::running() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->running(); });
}

void NodeRanks::check() {
  for (const auto& rank : ranks_) rank->check();
}

void NodeRanks::poll() {
  for (const auto& rank : ranks_) rank->poll();
}

}  // namespace lockstep::launch

#include "node_ranks.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/gpus.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>
#include <lockstep/base/topology.h>
#include <lockstep/base/version.h>

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

Variables thread_variables(int cores, int ranks) {
  Variables variables;
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS"}) {
    if (!env::get(name)) variables[name] = std::to_string(std::max(1, cores / ranks));
  }
  return variables;
}

void warn_if_crowded(int ranks, int cores) {
  if (ranks > cores) {
    log::warning("{} on {}: they will take turns", format_plural(ranks, "rank"), format_plural(cores, "core"));
  }
}

}  // namespace

NodeRanks::NodeRanks(const Token& token, EventLoop& loop, RankListener& listener)
    : loop_(loop), listener_(listener), token_file_(token.to_memfd()), cores_(read_topology().usable_cores) {}

NodeInfo NodeRanks::info() const {
  return {.version = version(),
          .host = host_name(),
          .pid = ::getpid(),
          .cores = cores_,
          .gpus = static_cast<int>(list_gpus().gpus.size()),
          .port = port_.number()};
}

void NodeRanks::start(const NodeAssignment& assignment, int in) {
  ranks_.clear();
  enter(assignment.folder);
  const std::filesystem::path program = find_program(assignment.command.front());
  warn_if_crowded(assignment.ranks, cores_);
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
      child.environment.merge(thread_variables(cores_, assignment.ranks));
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

#include "node_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>

#include "../base/slurm.h"
#include "program.h"

namespace lockstep::launch {
namespace {

using Way = NodePlan::Way;

constexpr int kMostNodes = 65'536;
constexpr int kMostRanks = 65'536;
constexpr int kDefaultPort = 29'500;  // as PyTorch's

bool has_program(const char* name) {
  try {
    find_program(name);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

NodePlan over_hosts(Way way, std::vector<Host> hosts, const NodeOptions& options) {
  NodePlan plan{.way = way, .hosts = std::move(hosts), .address = options.master_address, .port = options.master_port};
  const int count = static_cast<int>(plan.hosts.size());
  plan.min = options.min != 0 ? options.min : count;
  plan.max = count;
  if (plan.min > count || (options.max != 0 && options.max < count)) {
    throw UsageError({.message = fmt::format("--nnodes and the list of {} hosts do not fit", count),
                      .found = fmt::format("--nnodes {}:{}", options.min, options.max),
                      .expected = fmt::format("MIN:{} with MIN up to {}", count, count)});
  }
  return plan;
}

NodePlan by_themselves(const NodeOptions& options) {
  if (options.max == 1) return {};
  if (options.master_address.empty()) {
    throw UsageError({.message = "the nodes do not know where to meet",
                      .next = "give all of them --master-addr, the address of the node with --node-rank 0"});
  }
  const bool elastic = options.min != options.max;
  if (options.node_rank >= options.max || (options.node_rank < 0 && !elastic)) {
    throw UsageError({.message = "each node needs its number",
                      .found = fmt::format("--node-rank {} of {}", options.node_rank, options.max),
                      .expected = fmt::format("--node-rank 0 to {}, another on each node", options.max - 1)});
  }
  return {.way = options.node_rank == 0 ? Way::kLead : Way::kJoin,
          .min = options.min,
          .max = options.max,
          .number = options.node_rank,
          .hosts = {},
          .address = options.master_address,
          .port = options.master_port != 0 ? options.master_port : kDefaultPort};
}

// A task of srun, one on each node: the tasks find one another.
std::optional<NodePlan> from_slurm_step(const NodeOptions& options) {
  const auto nodes = env::get_int("SLURM_STEP_NUM_NODES", 1, kMostNodes);
  const auto tasks = env::get_int("SLURM_STEP_NUM_TASKS", 1, kMostRanks);
  const auto hosts = env::get("SLURM_STEP_NODELIST");
  const auto number = env::get_int("SLURM_NODEID", 0, kMostNodes);
  const auto job = env::get_int("SLURM_JOB_ID", 0);
  if (!nodes || *nodes == 1 || !hosts || !number || !job) return std::nullopt;
  if (tasks != nodes) {
    throw UsageError({.message = "lockstep run inside srun starts a node's ranks itself",
                      .found = fmt::format("{} tasks on {} nodes", *tasks, *nodes),
                      .expected = "one task a node",
                      .next =
                          "srun --ntasks-per-node=1 lockstep run --ranks-per-node R -- PROGRAM; or start the program "
                          "with srun directly"});
  }
  constexpr int kFirstPort = 20'000, kPorts = 10'000;  // one that two jobs on a node are not likely to share
  const int port = kFirstPort + static_cast<int>((*job * 7 + env::get_int("SLURM_STEP_ID", 0).value_or(0)) % kPorts);
  return NodePlan{
      .way = *number == 0 ? Way::kLead : Way::kJoin,
      .min = static_cast<int>(*nodes),
      .max = static_cast<int>(*nodes),
      .number = static_cast<int>(*number),
      .hosts = {},
      .address = options.master_address.empty() ? expand_slurm_hosts(*hosts).front() : options.master_address,
      .port = options.master_port != 0 ? options.master_port : port};
}

std::optional<NodePlan> from_scheduler(const NodeOptions& options) {
  if (env::get("SLURM_JOB_ID")) {
    // Slurm sets a step's number for tasks of srun alone; the batch script and salloc's shell have none.
    if (env::get("SLURM_STEP_ID") && env::get("SLURM_STEP_NODELIST")) {
      return from_slurm_step(options);
    }
    const auto list = env::get("SLURM_JOB_NODELIST");
    if (!list) return std::nullopt;
    std::vector<Host> hosts;
    for (std::string& name : expand_slurm_hosts(*list)) hosts.push_back({.name = std::move(name)});
    if (hosts.size() > 1) return over_hosts(Way::kSrun, std::move(hosts), options);
  } else if (const auto pbs = env::get("PBS_NODEFILE")) {
    std::vector<Host> hosts = read_nodefile(*pbs);
    if (hosts.size() > 1) return over_hosts(Way::kSsh, std::move(hosts), options);
  } else if (const auto cobalt = env::get("COBALT_NODEFILE")) {
    std::vector<Host> hosts = read_nodefile(*cobalt);
    for (Host& host : hosts) host.ranks = 0;  // Cobalt lists each node once, whatever is to run there
    if (hosts.size() > 1) return over_hosts(has_program("aprun") ? Way::kAprun : Way::kSsh, std::move(hosts), options);
  }
  return std::nullopt;
}

void require_sense(const RunOptions& options) {
  const NodeOptions& nodes = options.nodes;
  const auto refuse = [](const std::string& message, const std::string& found, const std::string& expected) {
    throw UsageError({.message = message, .found = found, .expected = expected});
  };
  if (options.ranks < 0 || options.ranks > kMostRanks) {
    refuse("the number of ranks makes no sense", std::to_string(options.ranks), fmt::format("1 to {}", kMostRanks));
  }
  if (options.ranks_per_node < 0 || options.ranks_per_node > 4096) {
    refuse("the number of ranks on a node makes no sense", std::to_string(options.ranks_per_node), "1 to 4096");
  }
  if (nodes.min < 0 || nodes.max < nodes.min || nodes.max > kMostNodes) {
    refuse("the number of nodes makes no sense", fmt::format("{}:{}", nodes.min, nodes.max), "N, or MIN:MAX");
  }
  if (!nodes.hosts.empty() && !nodes.hostfile.empty()) {
    refuse("the hosts are given twice", "--hosts and --hostfile", "one of them");
  }
  if (nodes.node_rank >= 0 && nodes.max == 0) refuse("--node-rank says nothing without --nnodes", "", "--nnodes N");
  if (nodes.node_rank >= 0 && !(nodes.hosts.empty() && nodes.hostfile.empty())) {
    refuse("with a list of hosts, one command starts all nodes", "--node-rank", "--hosts or --node-rank, not both");
  }
  if (nodes.min != nodes.max && options.ranks != 0) {
    refuse("how many ranks there are depends on the nodes that come", fmt::format("-n {}", options.ranks),
           "--ranks-per-node");
  }
}

}  // namespace

NodePlan plan_nodes(const RunOptions& options) {
  require_sense(options);
  const NodeOptions& nodes = options.nodes;
  if (!nodes.hosts.empty()) return over_hosts(Way::kSsh, parse_hosts(nodes.hosts), nodes);
  if (!nodes.hostfile.empty()) return over_hosts(Way::kSsh, read_hostfile(nodes.hostfile), nodes);
  if (nodes.max == 1 || nodes.node_rank >= 0) {
    return nodes.max == 0 ? NodePlan{} : by_themselves(nodes);
  }
  if (const auto plan = from_scheduler(nodes)) return *plan;
  return nodes.max == 0 ? NodePlan{} : by_themselves(nodes);
}

std::vector<int> share_ranks(const RunOptions& options, const std::vector<NodeRoom>& nodes) {
  const int count = static_cast<int>(nodes.size());
  if (options.ranks != 0 && options.ranks_per_node != 0 && options.ranks != options.ranks_per_node * count) {
    throw UsageError(
        {.message = "the numbers of ranks do not agree",
         .found = fmt::format("-n {}, but {} on each of {} nodes", options.ranks, options.ranks_per_node, count),
         .expected = fmt::format("-n {}", options.ranks_per_node * count),
         .next = "give one of them"});
  }
  std::vector<int> shares;
  for (const NodeRoom& node : nodes) {
    shares.push_back(options.ranks_per_node != 0 ? options.ranks_per_node
                     : node.told != 0            ? node.told
                                                 : std::max(node.gpus, 1));
  }
  if (options.ranks == 0) return shares;
  if (options.ranks < count) {
    throw UsageError({.message = fmt::format("{} ranks cannot be on {} nodes", options.ranks, count),
                      .expected = "at least one rank a node",
                      .next = "ask for fewer nodes"});
  }
  const bool told = std::all_of(nodes.begin(), nodes.end(), [](const NodeRoom& node) { return node.told != 0; });
  const int room = std::accumulate(shares.begin(), shares.end(), 0);
  if (told && options.ranks > room) {
    throw UsageError({.message = fmt::format("{} ranks are too many for the list of hosts", options.ranks),
                      .found = fmt::format("places for {}", room),
                      .next = "raise the numbers behind the hosts, or lower -n"});
  }
  if (told && options.ranks == room) return shares;
  // Evenly, the first ones one more; no node gets more than its places.
  std::fill(shares.begin(), shares.end(), 0);
  for (int left = options.ranks; left > 0;) {
    for (std::size_t i = 0; i < shares.size() && left > 0; ++i) {
      if (told && shares[i] >= nodes[i].told) continue;
      ++shares[i];
      --left;
    }
  }
  return shares;
}

}  // namespace lockstep::launch

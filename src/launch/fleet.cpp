#include "fleet.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>
#include <lockstep/base/version.h>

#include "own_address.h"

namespace lockstep::launch {
namespace {

using Way = NodePlan::Way;

// Where the launcher listens: as the user said, else where the first host beyond this one can reach it.
std::string listening_address(const NodePlan& plan) {
  if (!plan.address.empty()) return plan.address;
  for (const Host& host : plan.hosts) {
    if (!is_this_host(host.name)) return own_address(host.name);
  }
  return "127.0.0.1";
}

bool has_own_ranks(const NodePlan& plan) {
  if (plan.way == Way::kAlone || plan.way == Way::kLead) return true;
  return plan.way == Way::kSsh &&
         std::any_of(plan.hosts.begin(), plan.hosts.end(), [](const Host& host) { return is_this_host(host.name); });
}

void require_same(const NodeInfo& node, const std::string& what, const std::string& there, const std::string& here) {
  if (there == here) return;
  throw UsageError({.message = fmt::format("the nodes do not agree on {}", what),
                    .found = fmt::format("{} on {}", there, node.name()),
                    .expected = fmt::format("{}, as on the node that leads", here),
                    .next = "give all nodes the same command and the same version of Lockstep"});
}

}  // namespace

Fleet::Fleet(const NodePlan& plan, const RunOptions& options, const Token& token, EventLoop& loop,
             NodeListener& listener)
    : plan_(plan), options_(options), token_(token), loop_(loop), listener_(listener), starts_(plan.hosts.size()) {
  if (plan_.way != Way::kAlone) {
    door_ = std::make_unique<Doorkeeper>(listening_address(plan_), plan_.port, token_, loop_, [this](UniqueFd socket) {
      nodes_.push_back(std::make_unique<RemoteNode>(std::move(socket), loop_, listener_));
    });
    address_ = door_->address();
  }
  if (!has_own_ranks(plan_)) return;
  auto local = std::make_unique<LocalNode>(token_, loop_, listener_);
  local->info.address = address_;
  local->info.number = 0;
  for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
    if (is_this_host(plan_.hosts[i].name)) local->info.number = static_cast<int>(i);
  }
  local_ = local.get();
  nodes_.push_back(std::move(local));
}

std::vector<std::string> Fleet::agent_command(int number) const {
  std::vector<std::string> command = {(files::program_folder() / "lockstep").string(), "agent", "--connect",
                                      fmt::format("{}:{}", address_, door_->port())};
  if (number >= 0) command.insert(command.end(), {"--number", std::to_string(number)});
  return command;
}

void Fleet::start(std::size_t slot, std::string what, const std::vector<std::string>& command) {
  starts_[slot] = std::make_unique<RemoteStart>(std::move(what), command, token_, loop_);
}

void Fleet::start_missing() {
  if (plan_.way == Way::kSrun || plan_.way == Way::kAprun) {
    if (present().size() == plan_.hosts.size()) return;
    const int count = static_cast<int>(plan_.hosts.size());
    if (plan_.way == Way::kSrun) return start(0, "srun", srun_command(count, agent_command(-1)));
    if (!token_file_) token_file_ = std::make_unique<TokenFile>(token_);  // aprun gives stdin to one task alone
    std::vector<std::string> agent = agent_command(-1);
    agent.insert(agent.end(), {"--token-file", token_file_->path().string()});
    return start(0, "aprun", aprun_command(count, agent));
  }
  if (plan_.way != Way::kSsh) return;
  for (std::size_t i = 0; i < plan_.hosts.size(); ++i) {
    const int number = static_cast<int>(i);
    if (is_taken(number)) continue;
    const std::string& host = plan_.hosts[i].name;
    start(i, fmt::format("host '{}'", host), ssh_command(options_.nodes.ssh, host, agent_command(number)));
  }
}

bool Fleet::is_taken(int number, const Node* besides) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    return node.get() != besides && !node->is_lost && node->info.number == number;
  });
}

void Fleet::admit(Node& node) {
  NodeInfo& info = node.info;
  require_same(info, "the version of Lockstep", info.version, version());
  if (info.nodes_max != 0) {
    require_same(info, "the number of nodes", fmt::format("--nnodes {}:{}", info.nodes_min, info.nodes_max),
                 fmt::format("--nnodes {}:{}", plan_.min, plan_.max));
    require_same(info, "the number of ranks", fmt::format("-n {}, {} a node", info.ranks, info.ranks_per_node),
                 fmt::format("-n {}, {} a node", options_.ranks, options_.ranks_per_node));
  }
  if (info.number >= 0 && is_taken(info.number, &node)) {
    throw UsageError({.message = fmt::format("two nodes say that they are node {}", info.number),
                      .found = info.name(),
                      .expected = "another --node-rank on each node"});
  }
  for (int number = 0; info.number < 0; ++number) {
    if (!is_taken(number)) info.number = number;
  }
  const std::size_t slot = plan_.way == Way::kSsh ? static_cast<std::size_t>(info.number) : 0;
  if (slot < starts_.size() && starts_[slot]) starts_[slot]->speak_up();
}

std::vector<Node*> Fleet::present() const {
  std::vector<Node*> result;
  for (const auto& node : nodes_) {
    if (!node->is_lost && node->info.number >= 0) result.push_back(node.get());
  }
  std::sort(result.begin(), result.end(), [](const Node* a, const Node* b) { return a->info.number < b->info.number; });
  if (result.size() > static_cast<std::size_t>(plan_.max)) result.resize(static_cast<std::size_t>(plan_.max));
  return result;
}

std::string Fleet::missing() const {
  std::vector<std::string> words;
  for (int number = 0; number < plan_.max; ++number) {
    if (is_taken(number)) continue;
    const auto slot = static_cast<std::size_t>(number);
    words.push_back(slot < plan_.hosts.size() ? fmt::format("host '{}'", plan_.hosts[slot].name)
                                              : fmt::format("node {}", number));
  }
  return format_some(words, 16);
}

std::string Fleet::meeting_place() const {
  return door_ ? fmt::format("{}:{}", address_, door_->port()) : address_;
}

void Fleet::check() {
  for (const auto& node : nodes_) {
    if (!node->is_lost) node->check();
  }
  if (door_) door_->check();
}

void Fleet::poll() {
  if (local_ != nullptr) local_->poll();
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    if (!starts_[i]) continue;
    const auto why = starts_[i]->failure();
    if (!why) continue;
    const std::string what = starts_[i]->what();
    starts_[i].reset();
    if (plan_.way == Way::kSsh ? is_taken(static_cast<int>(i)) : !present().empty()) continue;  // it had done its work
    if (!plan_.is_elastic()) {
      throw RuntimeError(
          {.message = fmt::format("no agent could be started on {}", what),
           .found = *why,
           .next = "see that 'ssh HOST lockstep info' works there without a question; --ssh takes options"});
    }
    log::warning("no agent could be started on {}: {}", what, *why);
  }
}

void Fleet::signal(int number) {
  for (Node* node : present()) node->signal(number);
}

void Fleet::read_output(bool on) {
  for (Node* node : present()) node->read_output(on);
}

void Fleet::say_goodbye(int exit_code) {
  for (Node* node : present()) node->say_goodbye(exit_code);
}

void Fleet::refuse(const Error& error) {
  for (const auto& node : nodes_) {
    if (!node->is_lost) node->refuse(error);
  }
}

int Fleet::places(const Node& node) const {
  const auto slot = static_cast<std::size_t>(node.info.number);
  return slot < plan_.hosts.size() ? plan_.hosts[slot].ranks : 0;
}

}  // namespace lockstep::launch

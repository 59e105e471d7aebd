#include "job.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>

#include "forwarded_environment.h"
#include "listen.h"
#include "process_tree.h"
#include "rank_environment.h"
#include "waiting.h"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto kGraceAfterFailure = 3s;
constexpr auto kLastCall = 3s;       // for nodes beyond the fewest that an elastic job needs
constexpr auto kQuickFailure = 10s;  // a checkpoint that is written again and again so soon is no progress
constexpr int kExitBrokenPipe = 128 + SIGPIPE;

std::string make_name() {
  std::string name;
  for (const char byte : random_bytes(4)) name += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return name;
}

}  // namespace

Job::Job(const RunOptions& options, const NodePlan& plan, const Token& token, Printer& printer, int guardian)
    : options_(options),
      plan_(plan),
      token_(token),
      name_(make_name()),
      signals_({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}),
      printer_(printer),
      fleet_(plan, options, token, loop_, *this) {
  loop_.watch(signals_.fd(), [this] {
    while (const auto number = signals_.next(0ms)) {
      if (*number == SIGCHLD) {
        fleet_.poll();
      } else {
        on_asked(*number);
      }
    }
  });
  loop_.watch(guardian, [this] {
    fleet_.signal(SIGKILL);
    end_descendants(5s);
    ::_exit(kExitFailure);
  });
}

int Job::run() {
  try {
    const int code = run_attempts();
    fleet_.say_goodbye(code);
    return code;
  } catch (const Error& error) {
    fleet_.refuse(error);
    throw;
  }
}

int Job::run_attempts() {
  for (;;) {
    if (!gather()) return 128 + asked_signal_;
    start_attempt();
    while (static_cast<int>(ended_.size()) < size_) turn();
    const int code = conclude();
    if (code == 0 || !may_try_again(code)) return code;
    ++restarts_;
  }
}

// Waits for the nodes; false when the user did not want to.
bool Job::gather() {
  fleet_.start_missing();
  const auto began = Clock::now(), deadline = began + options_.nodes.join_timeout;
  std::optional<Clock::time_point> last_call;
  bool told = false;
  for (;;) {
    const int count = static_cast<int>(fleet_.present().size());
    if (ending_) return false;
    if (count >= plan_.max) return true;
    if (count >= plan_.min) {
      if (!last_call) last_call = Clock::now() + (plan_.is_elastic() ? kLastCall : 0s);
      if (Clock::now() >= *last_call) return true;
    }
    if (Clock::now() >= deadline) {
      throw TimeoutError({.message = fmt::format("{} of {} came within {}", format_plural(count, "node"), plan_.min,
                                                 format_duration(options_.nodes.join_timeout)),
                          .found = fleet_.missing() + " did not come",
                          .next = "look at the command there; --join-timeout gives them more time"});
    }
    if (!told && count < plan_.min && Clock::now() >= began + kQuietWait) {
      told = true;
      printer_.say(fmt::format("waiting for nodes at {}, {}: {} of {} here, not yet {}", fleet_.meeting_place(),
                               until(deadline), count, plan_.min, fleet_.missing()));
    }
    turn();
  }
}

void Job::start_attempt() {
  nodes_ = fleet_.present();
  std::vector<NodeRoom> rooms;
  for (const Node* node : nodes_) rooms.push_back({.told = fleet_.places(*node), .gpus = node->info.gpus});
  const std::vector<int> shares = share_ranks(options_, rooms);
  size_ = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i]->first_rank = size_;
    nodes_[i]->ranks = shares[i];
    size_ += shares[i];
  }
  ended_.clear();
  failures_.clear();
  first_code_ = 0;
  deadline_.reset();
  attempt_began_ = Clock::now();
  rendezvous_.reset();
  if (options_.store == Store::kOwn) {
    rendezvous_.emplace(token_, listen_as_told(fleet_.address(), options_.rendezvous_port));
  }
  for (Node* node : nodes_) node->start(assignment_for(*node));
}

NodeAssignment Job::assignment_for(const Node& node) const {
  const auto place = std::find(nodes_.begin(), nodes_.end(), &node) - nodes_.begin();
  NodeAssignment assignment{
      .command = options_.command,
      .folder = std::filesystem::current_path().string(),
      .environment = plan_.way == NodePlan::Way::kSsh ? forwarded_environment() : Variables{},
      .first_rank = node.first_rank,
      .ranks = node.ranks,
      .size = size_,
      .node = static_cast<int>(place),
      .nodes = static_cast<int>(nodes_.size()),
      .restarts = restarts_,
      .max_restarts = options_.max_restarts,
      .job = name_,
      .master_address = nodes_.front()->info.address,
      .master_port = nodes_.front()->info.port,
      .rendezvous = rendezvous_ ? fmt::format("{}:{}", rendezvous_->address(), rendezvous_->port()) : "",
      .heartbeat = static_cast<int>(options_.heartbeat.count()),
      .binding = options_.binding};
  for (const auto& [name, value] : variables_for(options_)) assignment.environment[name] = value;
  return assignment;
}

void Job::turn() {
  auto until = std::min(next_check_, deadline_.value_or(Clock::time_point::max()));
  if (!output_is_read_) until = std::min(until, Clock::now() + 20ms);
  loop_.turn(until);
  const auto now = Clock::now();
  if (now >= next_check_) {
    next_check_ = now + 1s;
    fleet_.check();
    fleet_.poll();
  }
  if (deadline_ && now >= *deadline_) {
    deadline_ = now + 1s;  // again, should one have been started meanwhile
    fleet_.signal(SIGKILL);
  }
  regulate_output();
}

void Job::regulate_output() {
  if (printer_.is_cut_off() && !ending_) {
    ending_ = true;
    if (first_code_ == 0) first_code_ = kExitBrokenPipe;
    ask_to_end(SIGTERM, options_.grace);
  }
  if (const bool room = !printer_.is_full(); room != output_is_read_) {
    output_is_read_ = room;
    fleet_.read_output(room);
  }
}

void Job::on_output(const RankOutput& output) {
  const Node* node = node_of(output.rank);
  if (node != nullptr) printer_.print({output.rank, size_}, node->info.host, output.stream, output.lines);
}

void Job::on_end(const RankEnd& end) {
  const Node* node = node_of(end.rank);
  if (node == nullptr || !ended_.insert(end.rank).second) return;
  if (end.exit_code != 0 && first_code_ == 0) first_code_ = end.exit_code;
  // Of ranks that were asked to end, some may not have come as far as to know what to do then: they die of the signal.
  if (end.exit_code == kExitTryAgain && first_code_ == 128 + asked_signal_) first_code_ = end.exit_code;
  // Once all were asked to end, one may die of another's end before its own request reaches it.
  const bool all_were_asked = deadline_ && failures_.empty();
  if (end.failed() && !all_were_asked) {
    note_failure({.end = end, .host = node->info.host, .how = {}, .lost_node = {}});
  }
}

void Job::note_failure(Failure failure) {
  const int code = failure.end.exit_code;
  failures_.push_back(std::move(failure));
  if (failures_.size() > 1) return;
  if (code == kExitTryAgain) {
    // All ranks stop with a checkpoint; one that still writes its part is not to be disturbed.
    if (!deadline_) deadline_ = Clock::now() + std::max<std::chrono::milliseconds>(options_.grace, kGraceAfterFailure);
    return;
  }
  ask_to_end(SIGTERM, std::min<std::chrono::milliseconds>(options_.grace, kGraceAfterFailure));
}

void Job::ask_to_end(int signal, std::chrono::milliseconds grace) {
  fleet_.signal(signal);
  const auto deadline = Clock::now() + grace;
  deadline_ = std::min(deadline_.value_or(deadline), deadline);
}

void Job::on_stuck(const RankStuck& stuck) {
  const Node* node = node_of(stuck.rank);
  if (node == nullptr || ended_.contains(stuck.rank)) return;
  log::warning("rank {} of {} ({}, pid {}) {}; it is: {}", stuck.rank, size_, node->info.host, stuck.pid, stuck.how,
               stuck.doing);
  if (!stuck.fatal) return;
  const std::chrono::duration<double> age = Clock::now() - attempt_began_;
  note_failure({.end = {.rank = stuck.rank,
                        .pid = stuck.pid,
                        .exit_code = kExitFailure,
                        .time = std::time(nullptr),
                        .age = age.count(),
                        .doing = stuck.doing},
                .host = node->info.host,
                .how = stuck.how,
                .lost_node = {},
                .waits = stuck.waits});
}

void Job::on_hello(Node& node) {
  fleet_.admit(node);
}

void Job::on_asked(int signal) {
  ending_ = true;
  asked_signal_ = signal;
  if (signal == SIGUSR1 || signal == SIGUSR2) return fleet_.signal(signal);
  if (signal == SIGINT && ++interrupts_ > 1) {
    deadline_ = Clock::now();
    return;
  }
  ask_to_end(signal, options_.grace);
}

void Job::on_refusal(Node& node, const Message& refusal) {
  throw_refusal(refusal, "starting the ranks of " + node.info.name());
}

void Job::on_loss(Node& node, const std::string& why) {
  if (std::find(nodes_.begin(), nodes_.end(), &node) == nodes_.end()) return;  // it had no part yet
  const std::chrono::duration<double> age = Clock::now() - attempt_began_;
  bool first = true;
  for (int rank = node.first_rank; rank < node.first_rank + node.ranks; ++rank) {
    if (!ended_.insert(rank).second || !first) continue;
    first = false;
    note_failure({.end = {.rank = rank, .exit_code = kExitFailure, .time = std::time(nullptr), .age = age.count()},
                  .host = node.info.host,
                  .how = node.info.name(),
                  .lost_node = why});
  }
}

const Node* Job::node_of(int rank) const {
  for (const Node* node : nodes_) {
    if (rank >= node->first_rank && rank < node->first_rank + node->ranks) return node;
  }
  return nullptr;
}

int Job::conclude() {
  if (failures_.empty()) return first_code_;
  const Failure& first = first_failure(failures_);
  const int code = first.end.exit_code;
  history_.push_back(fmt::format(
      "attempt {}: rank {} on {}, {} after {}", restarts_ + 1, first.end.rank, first.host,
      first.end.signal != 0 ? fmt::format("signal {}", first.end.signal) : fmt::format("exit code {}", code),
      format_duration(std::chrono::duration<double>(first.end.age))));
  if (code == kExitTryAgain) return code;
  std::string text = "error: " + describe(first, size_);
  if (const std::string others = describe_others(failures_, first); !others.empty()) {
    text += "\n  failed after it: " + others;
  }
  if (size_ > 1) text += "\n  the other ranks were ended";
  printer_.say(text);
  return code;
}

bool Job::may_try_again(int code) {
  if (options_.max_restarts == 0 || ending_) return false;
  if (code == kExitUsage) {
    printer_.say("not started again: exit code 2 says that the command is wrong, and it would fail again");
    return false;
  }
  const bool counts = code != kExitTryAgain || Clock::now() - attempt_began_ < kQuickFailure;
  if (counts && ++counted_restarts_ > options_.max_restarts) {
    std::string text = fmt::format("given up after {}:", format_plural(options_.max_restarts, "restart"));
    for (const std::string& line : history_) text += "\n  " + line;
    printer_.say(text);
    return false;
  }
  printer_.say(counts
                   ? fmt::format("starting the job again ({} of {} restarts)", counted_restarts_, options_.max_restarts)
                   : std::string("starting the job again from its checkpoint"));
  return true;
}

}  // namespace lockstep::launch

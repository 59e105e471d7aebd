#include "agent.h"

#include <unistd.h>

#include <csignal>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>

#include "../base/rendezvous_connect.h"
#include "guardian.h"
#include "message_json.h"
#include "process_tree.h"
#include "rank_environment.h"
#include "waiting.h"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

UniqueFd connect(const AgentPlan& plan, const Token& token, int guardian) {
  const Expendable until_connected(guardian);  // the event loop, which hears of signals, turns only after this
  const auto try_for = [&](std::chrono::seconds limit) {
    return rendezvous::connect_as_member(token, {.host = plan.address, .port = plan.port, .connect_timeout = limit});
  };
  auto limit = plan.connect_timeout;
  if (plan.printer != nullptr && limit > kQuietWait) {
    try {
      return try_for(kQuietWait);
    } catch (const TimeoutError&) {
      limit -= kQuietWait;
      plan.printer->say(fmt::format("waiting for the node that leads, at {}:{}, {}: nobody answers there yet",
                                    plan.address, plan.port, until(Clock::now() + limit)));
    }
  }
  try {
    return try_for(limit);
  } catch (const TimeoutError& error) {
    ErrorParts parts = error.parts();
    parts.message = fmt::format("the node that leads did not answer at {}:{} within {} s", plan.address, plan.port,
                                plan.connect_timeout.count());
    parts.next = "start the command with --node-rank 0 there, and check --master-addr, --master-port and the network";
    throw TimeoutError(std::move(parts));
  }
}

}  // namespace

Agent::Agent(const AgentPlan& plan, const Token& token, int guardian)
    : plan_(plan),
      launcher_(fmt::format("{}:{}", plan.address, plan.port)),
      signals_({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}),
      channel_(connect(plan, token, guardian), loop_,
               {.on_message = [this](const Message& message) { handle(message); },
                .on_loss = [this](const std::string& why) { lost_ = why; }}),
      ranks_(token, loop_, *this) {
  NodeInfo info = ranks_.info();
  host_ = info.host;
  info.number = plan_.told.number;
  info.nodes_min = plan_.told.nodes_min;
  info.nodes_max = plan_.told.nodes_max;
  info.ranks = plan_.told.ranks;
  info.ranks_per_node = plan_.told.ranks_per_node;
  channel_.send(message("hello", info));
  loop_.watch(signals_.fd(), [this] { handle_signals(); });
  watch_for_the_end(guardian);
  if (plan_.stdin_is_the_line) watch_for_the_end(STDIN_FILENO);
  if (plan_.printer != nullptr) speaks_at_ = Clock::now() + kQuietWait;
}

// Whoever holds the other end is gone, and with it the job.
void Agent::watch_for_the_end(int fd) {
  loop_.watch(fd, [fd] {
    char byte = 0;
    if (::read(fd, &byte, 1) > 0) return;
    end_descendants(5s);
    ::_exit(kExitFailure);
  });
}

int Agent::run() {
  auto next_check = Clock::now();
  while (!exit_code_) {
    loop_.turn(output_is_read_ ? next_check : std::min(next_check, Clock::now() + 20ms));
    if (!lost_.empty()) {
      throw RuntimeError({.message = fmt::format("the node that leads the job ({}) was lost: {}", launcher_, lost_),
                          .next = "the ranks of this node were ended; see what happened there, or to the network"});
    }
    if (Clock::now() >= next_check) {
      next_check = Clock::now() + 1s;
      channel_.check();
      ranks_.check();
      ranks_.poll();
      if (speaks_at_ && Clock::now() >= *speaks_at_) {
        speaks_at_.reset();
        plan_.printer->say(
            fmt::format("waiting for {}, which leads, to start the job: other nodes have yet to come", launcher_));
      }
    }
    regulate_output();
  }
  return *exit_code_;
}

void Agent::handle(const Message& message) {
  const std::string kind = message.at("is");
  if (kind == "start") {
    start(message.get<NodeAssignment>());
  } else if (kind == "signal") {
    ranks_.signal(message.at("number"));
  } else if (kind == "bye") {
    exit_code_ = message.at("code");
  } else if (kind == "refuse") {
    // The launcher says it to the user; a user of this node's own has to hear it here.
    if (plan_.own != nullptr) throw_refusal(message);
    exit_code_ = message.at("code");
  }
}

void Agent::start(NodeAssignment assignment) {
  speaks_at_.reset();
  size_ = assignment.size;
  if (plan_.own != nullptr) {
    assignment.command = plan_.own->command;
    assignment.folder.clear();
    assignment.environment = variables_for(*plan_.own);
    assignment.binding = plan_.own->binding;
  }
  try {
    ranks_.start(assignment, channel_.local_address());
  } catch (const Error& error) {
    channel_.send(refusal(error));  // the launcher tells everybody, this node too
  }
}

void Agent::on_output(const RankOutput& output) {
  if (plan_.printer != nullptr) {
    plan_.printer->print({output.rank, size_}, host_, output.stream, output.lines);
  } else {
    channel_.send(message("output", output));
  }
}

void Agent::on_end(const RankEnd& end) {
  channel_.send(message("end", end));
}

void Agent::on_stuck(const RankStuck& stuck) {
  channel_.send(message("stuck", stuck));
}

void Agent::handle_signals() {
  while (const auto number = signals_.next(0ms)) {
    if (*number == SIGCHLD) {
      ranks_.poll();
    } else if (*number == SIGINT && ++interrupts_ > 1) {
      end_descendants(5s);
      ::_exit(128 + SIGINT);
    } else {
      channel_.send({{"is", "asked"}, {"number", *number}});  // the whole job is asked, not this node's part
    }
  }
}

void Agent::regulate_output() {
  const bool room = !channel_.is_full() && !(plan_.printer != nullptr && plan_.printer->is_full());
  if (room == output_is_read_) return;
  output_is_read_ = room;
  ranks_.read_output(room);
}

}  // namespace lockstep::launch

#include "node.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "message_json.h"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

// A program at the other end of a pipe or in a file may be read by rank 0; a terminal may not: ranks are not in its
// foreground and would be stopped.
int input_for_rank_zero() {
  return ::isatty(STDIN_FILENO) != 0 ? -1 : STDIN_FILENO;
}

}  // namespace

LocalNode::LocalNode(const Token& token, EventLoop& loop, NodeListener& listener) : ranks_here_(token, loop, listener) {
  info = ranks_here_.info();
}

void LocalNode::start(const NodeAssignment& assignment) {
  ranks_here_.start(assignment, info.address, input_for_rank_zero());
}

void LocalNode::check() {
  ranks_here_.check();
}

RemoteNode::RemoteNode(UniqueFd socket, EventLoop& loop, NodeListener& listener)
    : listener_(listener),
      channel_(std::move(socket), loop,
               {.on_message = [this](const Message& message) { handle(message); },
                .on_loss =
                    [this](const std::string& why) {
                      is_lost = true;
                      listener_.on_loss(*this, why);
                    }}) {}

void RemoteNode::handle(const Message& message) {
  try {
    const std::string kind = message.at("is");
    if (kind == "output") {
      listener_.on_output(message.get<RankOutput>());
    } else if (kind == "end") {
      listener_.on_end(message.get<RankEnd>());
    } else if (kind == "stuck") {
      listener_.on_stuck(message.get<RankStuck>());
    } else if (kind == "hello") {
      info = message.get<NodeInfo>();
      info.address = channel_.remote_address();
      listener_.on_hello(*this);
    } else if (kind == "asked") {
      listener_.on_asked(message.at("number"));
    } else if (kind == "refuse") {
      listener_.on_refusal(*this, message);
    }
  } catch (const Message::exception&) {
    channel_.lose("it sent what no Lockstep of this version sends");
  }
}

void RemoteNode::start(const NodeAssignment& assignment) {
  channel_.send(message("start", assignment));
}

void RemoteNode::signal(int number) {
  channel_.send({{"is", "signal"}, {"number", number}});
}

void RemoteNode::say_goodbye(int exit_code) {
  channel_.send({{"is", "bye"}, {"code", exit_code}});
  channel_.flush(2s);
}

void RemoteNode::refuse(const Error& error) {
  channel_.send(refusal(error));
  channel_.flush(2s);
}

}  // namespace lockstep::launch

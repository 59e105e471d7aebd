#pragma once
#include <chrono>
#include <optional>
#include <string>

#include <lockstep/base/token.h>
#include <lockstep/launch/run.h>

#include "channel.h"
#include "event_loop.h"
#include "messages.h"
#include "node_ranks.h"
#include "printer.h"
#include "signals.h"

namespace lockstep::launch {

struct AgentPlan {
  std::string address;  // of the launcher that leads
  int port = 0;
  NodeInfo told;  // what this node was told of the job
  // A node that was started like the leading one has a command and variables of its own, and prints for itself; else
  // all that comes from the launcher, and goes to it.
  const RunOptions* own = nullptr;
  Printer* printer = nullptr;
  bool stdin_is_the_line = false;  // the end of stdin means that the job is over
  std::chrono::seconds connect_timeout{60};
};

// A node's part in a job that a launcher elsewhere leads: does what it says, and ends everything when it is gone.
class Agent : public RankListener {
 public:
  // Connects; a signal that asks for it ends this process meanwhile. `guardian` can be read when the process that
  // guards this one has died.
  Agent(const AgentPlan& plan, const Token& token, int guardian);

  // Returns the job's exit code. Throws what made the launcher end the job; RuntimeError when it is lost.
  int run();

 private:
  void on_output(const RankOutput& output) override;
  void on_end(const RankEnd& end) override;
  void on_stuck(const RankStuck& stuck) override;

  void handle(const Message& message);
  void start(NodeAssignment assignment);
  void handle_signals();
  void regulate_output();
  void watch_for_the_end(int fd);

  const AgentPlan plan_;
  const std::string launcher_;  // its address, for people
  std::string host_;
  EventLoop loop_;
  SignalReader signals_;
  Channel channel_;
  NodeRanks ranks_;
  int size_ = 1;
  int interrupts_ = 0;
  bool output_is_read_ = true;
  std::optional<Clock::time_point> speaks_at_;  // when the wait for the job's start has become worth a word
  std::optional<int> exit_code_;
  std::string lost_;  // why
};

}  // namespace lockstep::launch

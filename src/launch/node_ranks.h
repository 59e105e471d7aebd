#pragma once
#include <memory>
#include <vector>

#include <lockstep/base/fd.h>
#include <lockstep/base/token.h>

#include "event_loop.h"
#include "messages.h"
#include "rank_events.h"
#include "rank_process.h"
#include "reserved_port.h"

namespace lockstep::launch {

// The ranks of this node, from the start of an attempt to its end; then of the next.
class NodeRanks {
 public:
  NodeRanks(const Token& token, EventLoop& loop, RankListener& listener);

  // This node, as it introduces itself to the job.
  NodeInfo info() const;

  // Starts a share of the job; none of the last one runs any more. `in` becomes rank 0's stdin, if that is here.
  // Throws UsageError or RuntimeError, with nothing left running, when the program cannot be started.
  void start(const NodeAssignment& assignment, int in = -1);

  void signal(int number);
  void read_output(bool on);
  bool running() const;

  // Call about once a second, and whenever a child may have ended.
  void check();
  void poll();

 private:
  EventLoop& loop_;
  RankListener& listener_;
  UniqueFd token_file_;
  const int cores_;
  ReservedPort port_;
  std::vector<std::unique_ptr<RankProcess>> ranks_;
};

}  // namespace lockstep::launch

#pragma once
#include <csignal>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lockstep/base/rendezvous_server.h>
#include <lockstep/base/token.h>
#include <lockstep/launch/run.h>

#include "event_loop.h"
#include "failure.h"
#include "fleet.h"
#include "node_plan.h"
#include "printer.h"
#include "signals.h"

namespace lockstep::launch {

// A job from its start to its end, through all its attempts: the one place that decides.
class Job : public NodeListener {
 public:
  // `guardian` can be read when the process that guards this one has died. The printer outlives the job.
  Job(const RunOptions& options, const NodePlan& plan, const Token& token, Printer& printer, int guardian);

  // Returns the job's exit code.
  int run();

 private:
  void on_output(const RankOutput& output) override;
  void on_end(const RankEnd& end) override;
  void on_stuck(const RankStuck& stuck) override;
  void on_hello(Node& node) override;
  void on_asked(int signal) override;
  void on_refusal(Node& node, const Message& refusal) override;
  void on_loss(Node& node, const std::string& why) override;

  int run_attempts();
  bool gather();
  void start_attempt();
  NodeAssignment assignment_for(const Node& node) const;
  void turn();
  void regulate_output();

  void ask_to_end(int signal, std::chrono::milliseconds grace);
  void note_failure(Failure failure);
  const Node* node_of(int rank) const;

  // The exit code of an attempt that has ended; says what went wrong.
  int conclude();
  bool may_try_again(int code);

  const RunOptions& options_;
  const NodePlan plan_;
  const Token token_;
  const std::string name_;
  EventLoop loop_;
  SignalReader signals_;
  Printer& printer_;
  Fleet fleet_;

  // Of the attempt under way.
  std::optional<RendezvousServer> rendezvous_;
  std::vector<Node*> nodes_;
  int size_ = 0;
  std::set<int> ended_;
  std::vector<Failure> failures_;
  int first_code_ = 0;  // the first exit code that was not 0, of a rank that was asked to end or not; or kExitTryAgain
  std::optional<Clock::time_point> deadline_;  // when what still runs is killed
  Clock::time_point attempt_began_;

  int restarts_ = 0;
  int counted_restarts_ = 0;
  std::vector<std::string> history_;
  bool ending_ = false;         // somebody asked the job to end, or told it that its time is up
  int asked_signal_ = SIGTERM;  // the last that asked for it
  int interrupts_ = 0;
  bool output_is_read_ = true;
  Clock::time_point next_check_ = Clock::now();
};

}  // namespace lockstep::launch

#pragma once
#include <memory>
#include <string>
#include <vector>

#include <lockstep/base/token.h>
#include <lockstep/launch/run.h>

#include "doorkeeper.h"
#include "node.h"
#include "node_plan.h"
#include "remote_start.h"
#include "user_key.h"

namespace lockstep::launch {

// The nodes of a job: this one, those that were started from here, and those that came by themselves.
class Fleet {
 public:
  // Throws UsageError when this machine cannot be reached by the others as planned.
  Fleet(const NodePlan& plan, const RunOptions& options, const Token& token, EventLoop& loop, NodeListener& listener);

  // Starts agents on the hosts of the plan that have none.
  void start_missing();

  // Gives a node that has said hello its place. Throws UsageError, for all, when it does not fit the job.
  void admit(Node& node);

  // Those that are here and not lost, in their order, `plan.max` at most.
  std::vector<Node*> present() const;

  // "node 1", "host 'b' (Connection refused)": those that are awaited.
  std::string missing() const;

  // Call about once a second, and when a child may have ended. `check` throws when a host cannot be reached and the job
  // needs it.
  void check();
  void poll();

  void signal(int number);
  void read_output(bool on);
  void say_goodbye(int exit_code);
  void refuse(const Error& error);

  // Where the launcher can be reached; and with the port for other nodes, "10.0.0.1:29500", for people.
  const std::string& address() const { return address_; }
  std::string meeting_place() const;

  // How many ranks the plan's list of hosts gives a node; 0: it does not say.
  int places(const Node& node) const;

 private:
  std::vector<std::string> agent_command(int number) const;
  void start(std::size_t slot, std::string what, const std::vector<std::string>& command);
  bool is_taken(int number, const Node* besides = nullptr) const;

  const NodePlan plan_;
  const RunOptions& options_;
  const Token token_;
  EventLoop& loop_;
  NodeListener& listener_;
  std::string address_ = "127.0.0.1";
  std::unique_ptr<Doorkeeper> door_;
  std::unique_ptr<TokenFile> token_file_;
  std::vector<std::unique_ptr<Node>> nodes_;  // lost ones too: somebody may be in the middle of one
  LocalNode* local_ = nullptr;
  std::vector<std::unique_ptr<RemoteStart>> starts_;  // one for each host of the plan; or one for all
};

}  // namespace lockstep::launch

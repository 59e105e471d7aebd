#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lockstep/base/fd.h>
#include <lockstep/base/token.h>
#include <lockstep/launch/child.h>
#include <lockstep/launch/pipe.h>

#include "event_loop.h"
#include "lines.h"

namespace lockstep::launch {

// A program that starts agents elsewhere: ssh for one host, srun or aprun for all. The token goes to its stdin, which
// stays open until the end: it is how the agents learn that this side is gone.
class RemoteStart {
 public:
  // `what` names it in messages: "host 'b'".
  RemoteStart(std::string what, const std::vector<std::string>& command, const Token& token, EventLoop& loop);
  RemoteStart(const RemoteStart&) = delete;
  RemoteStart& operator=(const RemoteStart&) = delete;
  ~RemoteStart();

  const std::string& what() const { return what_; }

  // Prints what it and its agents say, from now on; until then it may turn out to be the reason of a failure.
  void speak_up();

  // Why it cannot have started anything, when it has ended.
  std::optional<std::string> failure();

 private:
  static ChildOptions child_options(const std::vector<std::string>& command, const Pipe& in, const Pipe& said);

  void hear();
  void print(const std::string& lines) const;

  const std::string what_;
  EventLoop& loop_;
  Pipe in_;
  Pipe said_;
  LineAssembler lines_;
  Tail tail_{3};
  bool speaks_ = false;
  std::unique_ptr<Child> child_;
  std::optional<ChildEnd> end_;
};

// The command that starts an agent on a host; `ssh` may bring options of its own.
std::vector<std::string> ssh_command(const std::string& ssh, const std::string& host,
                                     const std::vector<std::string>& agent);

// The commands that start one agent on each of `nodes` nodes of the allocation around this process.
std::vector<std::string> srun_command(int nodes, const std::vector<std::string>& agent);
std::vector<std::string> aprun_command(int nodes, const std::vector<std::string>& agent);

}  // namespace lockstep::launch

// A program that runs while the test goes on, and all that stems from it.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace lockstep::test {

class RunningCommand {
 public:
  // Starts argv[0] with its arguments, stdin empty, `environment` over this process's own. It dies with this process.
  explicit RunningCommand(const std::vector<std::string>& argv,
                          const std::map<std::string, std::string>& environment = {});
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;
  ~RunningCommand();  // kills all of it

  int pid() const { return pid_; }
  void signal(int number) const;

  // Its exit code, 128 + S when signal S ended it; nothing when it does not end within the limit.
  std::optional<int> wait(std::chrono::milliseconds limit);

  // What it has printed so far.
  std::string out() const { return content(folder_.path() / "stdout"); }
  std::string err() const { return content(folder_.path() / "stderr"); }

  // Every process that stems from it and lives, wherever it went: each has inherited a variable that only they have.
  std::vector<int> processes() const;

 private:
  const TemporaryFolder folder_;
  int pid_ = -1;
  std::optional<int> exit_code_;
};

// The processes whose environment was `entry`, NAME=VALUE, among others when they were started.
std::vector<int> processes_with(const std::string& entry);

// A process's children that live.
std::vector<int> children_of(int pid);

// A TCP port of loopback that was free a moment ago.
std::string free_port();

}  // namespace lockstep::test

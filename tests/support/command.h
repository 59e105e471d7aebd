// Runs a program as a user would, and says what came of it.
#pragma once
#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace lockstep::test {

struct CommandResult {
  int exit_code = 0;  // 128 + signal when a signal ended it
  std::string out;
  std::string err;
  bool timed_out = false;
};

struct CommandOptions {
  std::map<std::string, std::string> environment;  // over this process's own
  std::chrono::seconds limit = std::chrono::seconds(60);
};

// Starts argv[0] with its arguments and stdin closed, and waits for its end. At the limit its process group is killed.
CommandResult run_command(const std::vector<std::string>& argv, const CommandOptions& options = {});

// build/<preset>/bin/NAME
std::string program_path(const std::string& name);

// Whether a process of that number exists and is no zombie.
bool process_runs(int pid);

void wait_a_moment();

// Waits until `done()` holds; false when it does not within the limit.
template <typename Condition>
bool eventually(Condition&& done, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    wait_a_moment();
  }
  return true;
}
}  // namespace lockstep::test

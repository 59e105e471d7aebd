#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace lockstep::launch {

// From now on what this process's descendants leave behind becomes its own child, however it tried to get away.
void adopt_orphans();

// Every process that stems from this one, as far as orphans were adopted.
std::vector<pid_t> descendants();

// Kills all of them, those that they start meanwhile too, and collects them. Returns what is still there when the time
// has passed: a process that hangs in the kernel cannot be killed.
std::vector<pid_t> end_descendants(std::chrono::milliseconds limit);

// What it is waiting for in the kernel: "stopped", "sleeping in futex_wait_queue", "running". Empty when it does not
// exist.
struct ProcessState {
  bool stopped = false;  // SIGSTOP, Ctrl-Z, a debugger
  bool ending = false;   // how it ends is settled, even if it has not yet been noticed: no signal matters to it
  std::string text;
};
ProcessState process_state(pid_t pid);

}  // namespace lockstep::launch

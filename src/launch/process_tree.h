#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>

namespace lockstep::launch {

// From now on what this process's descendants leave behind becomes its own child, however it tried to get away.
void adopt_orphans();

// Kills every process that stems from this one, as far as orphans were adopted, those that they start meanwhile too,
// and collects them. Gives up after the limit: a process that hangs in the kernel cannot be killed.
void end_descendants(std::chrono::milliseconds limit);

// What it is waiting for in the kernel: "stopped", "sleeping in futex_wait_queue", "running". Empty when it does not
// exist.
struct ProcessState {
  bool stopped = false;  // SIGSTOP, Ctrl-Z, a debugger
  bool ending = false;   // how it ends is settled, even if it has not yet been noticed: no signal matters to it
  std::string text;
};
ProcessState process_state(pid_t pid);

}  // namespace lockstep::launch

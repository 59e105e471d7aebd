// Starts a program as several ranks on this machine, watches them, and leaves none behind.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include <lockstep/launch/binding.h>

namespace lockstep::launch {

// Where ranks meet: at the launcher's authenticated rendezvous, or at PyTorch's TCPStore on MASTER_ADDR:MASTER_PORT,
// where ranks of Python and of C++ can be in one job, and which is open to who can reach that address.
enum class Store { kOwn, kTcp };

struct RunOptions {
  int ranks = 1;
  std::vector<std::string> command;  // the program and its arguments; started directly, never through a shell
  bool all_ranks = false;            // every rank's log is printed, not rank 0's alone
  BindingOptions binding;            // of the ranks to cores
  Store store = Store::kOwn;
  int rendezvous_port = 0;  // of the launcher's rendezvous; 0: the kernel chooses
  // How long ranks have to end by themselves after another one failed or the user asked.
  std::chrono::milliseconds grace = std::chrono::seconds(4);
};

// Returns when every rank has ended: 0 when all succeeded, else the exit code of the first that failed (128 + the
// signal's number when a signal ended it). When one fails the others are asked to end, and after `grace` are killed.
// SIGINT, SIGTERM, SIGHUP and SIGUSR1 are passed on to the ranks; a second SIGINT kills them at once.
//
// Throws UsageError, with nothing started, when the number of ranks, their binding or the program makes no sense.
int run(const RunOptions& options);

}  // namespace lockstep::launch

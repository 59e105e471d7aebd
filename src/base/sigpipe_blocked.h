// For libraries that write to sockets as if nobody could have closed them.
#pragma once
#include <csignal>

namespace lockstep {

// While it lives, a write of the calling thread to a connection without a reader fails with EPIPE, and no SIGPIPE ends
// the process. For the threads that are started meanwhile this stays so.
class SigpipeBlocked {
 public:
  SigpipeBlocked();
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;
  ~SigpipeBlocked();

 private:
  sigset_t before_{};
};

}  // namespace lockstep

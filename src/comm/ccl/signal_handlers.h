#pragma once
#include <signal.h>

#include <array>

namespace lockstep::comm::ccl {

// Gives this process's signals back to the handlers that they had. libfabric takes SIGTERM, SIGINT and others to remove
// names in /dev/shm, for which it waits for a lock that the interrupted thread may hold: the process would never end.
class SignalHandlers {
 public:
  SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;
  ~SignalHandlers();

 private:
  static constexpr int kSignals = 32;  // those of real time come after them
  std::array<struct sigaction, kSignals> before_{};
};

}  // namespace lockstep::comm::ccl

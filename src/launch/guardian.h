#pragma once
#include <signal.h>

#include <array>
#include <functional>

namespace lockstep::launch {

// Runs `body` in a process of its own, in a process group of its own, and stands guard over it: whichever of the two is
// killed, the other ends every process that stems from them. A signal that asks this process to end is passed on to the
// body's. Returns the body's exit code, or 128 + S when signal S ended it.
//
// `body` gets a descriptor that can be read, at its end, when this process has died; it must then end at once.
int guard(const std::function<int(int guardian)>& body);

// For a body that waits before it has started anything: while this lives, it dies with its guardian, and of any signal
// that the guardian passes on, wherever it waits.
class Expendable {
 public:
  explicit Expendable(int guardian);
  Expendable(const Expendable&) = delete;
  Expendable& operator=(const Expendable&) = delete;
  ~Expendable();

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

  std::array<struct sigaction, kSignals.size()> previous_actions_{};
  sigset_t previous_mask_{};
};

// For a body that has done its work and waits only for whoever reads its output, perhaps for ever: ends what still
// stems from it. From now on it dies with its guardian, and of a signal that asks it to end.
void stand_down(int guardian);

}  // namespace lockstep::launch

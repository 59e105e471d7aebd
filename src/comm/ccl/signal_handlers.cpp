#include "signal_handlers.h"

namespace lockstep::comm::ccl {

SignalHandlers::SignalHandlers() {
  for (int signal = 1; signal < kSignals; ++signal) {
    ::sigaction(signal, nullptr, &before_[static_cast<std::size_t>(signal)]);
  }
}

SignalHandlers::~SignalHandlers() {
  for (int signal = 1; signal < kSignals; ++signal) {
    if (signal == SIGKILL || signal == SIGSTOP) continue;
    const auto& before = before_[static_cast<std::size_t>(signal)];
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_sigaction != before.sa_sigaction) ::sigaction(signal, &before, nullptr);
  }
}

}  // namespace lockstep::comm::ccl

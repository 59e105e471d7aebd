#include "stop_signals.h"

#include <atomic>

namespace lockstep::train {
namespace {

// A handler can reach nothing else.
std::atomic<Trainer*> stopped_trainer = nullptr;
static_assert(std::atomic<Trainer*>::is_always_lock_free);

void ask_to_stop(int /*signal*/) {
  if (Trainer* const trainer = stopped_trainer.load()) trainer->request_stop();
}

}  // namespace

StopSignals::StopSignals(Trainer& trainer) {
  stopped_trainer.store(&trainer);
  struct sigaction action = {};
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGUSR1}) ::sigaction(signal, &action, &before_[signal]);
}

StopSignals::~StopSignals() {
  for (const auto& [signal, action] : before_) ::sigaction(signal, &action, nullptr);
  stopped_trainer.store(nullptr);
}

}  // namespace lockstep::train

#include "stop_signals.h"

#include <unistd.h>

#include <atomic>
#include <string>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>

namespace lockstep::train {
namespace {

// A handler can reach nothing else.
std::atomic<bool> is_starting = false;
std::atomic<Trainer*> stopped_trainer = nullptr;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<Trainer*>::is_always_lock_free);
std::string last_words;  // not changed while the handler is there

void stop(int /*signal*/) {
  if (Trainer* const trainer = stopped_trainer.load()) return trainer->request_stop();
  if (!is_starting.load()) return;
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, last_words.data(), last_words.size());
  ::_exit(kExitTryAgain);
}

}  // namespace

StopSignals::StopSignals(RankId self) {
  last_words = self.rank != 0 ? ""
                              : log::prefix(self) +
                                    "asked to stop before the first step: nothing is lost, the same command starts it "
                                    "again\n";
  is_starting.store(true);
  struct sigaction action = {};
  action.sa_handler = stop;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGUSR1}) ::sigaction(signal, &action, &before_[signal]);
}

StopSignals::~StopSignals() {
  for (const auto& [signal, action] : before_) ::sigaction(signal, &action, nullptr);
  is_starting.store(false);
}

StopSignals::Training::Training(Trainer& trainer) {
  stopped_trainer.store(&trainer);
  is_starting.store(false);
}

StopSignals::Training::~Training() {
  stopped_trainer.store(nullptr);
}

}  // namespace lockstep::train

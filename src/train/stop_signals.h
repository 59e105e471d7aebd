#pragma once
#include <signal.h>

#include <map>

#include <lockstep/train/trainer.h>

namespace lockstep::train {

// While it lives, SIGTERM and SIGUSR1 ask the trainer to stop. One at a time in a process.
class StopSignals {
 public:
  explicit StopSignals(Trainer& trainer);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  std::map<int, struct sigaction> before_;
};

}  // namespace lockstep::train

#pragma once
#include <signal.h>

#include <map>

#include <lockstep/base/rank.h>
#include <lockstep/train/trainer.h>

namespace lockstep::train {

// What SIGTERM and SIGUSR1 do to a run while it lives. Before training begins they end this process at once, with
// kExitTryAgain: no step was done that could be lost, and whoever asks may not wait until data is open or all ranks
// have come. One at a time in a process.
class StopSignals {
 public:
  // `self`: rank 0 says for all that it ends.
  explicit StopSignals(RankId self);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // While it lives, they ask the trainer to stop; after that they do nothing, as the run ends anyway.
  class Training {
   public:
    explicit Training(Trainer& trainer);
    ~Training();
    Training(const Training&) = delete;
    Training& operator=(const Training&) = delete;
  };

 private:
  std::map<int, struct sigaction> before_;
};

}  // namespace lockstep::train

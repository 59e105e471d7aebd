#pragma once
#include <chrono>

#include "../engine.h"

namespace lockstep::comm::mpi {

// The rests of one that must look again and again, because MPI moves only when it is called: none at first, then it
// lets others run, then it naps. A machine with more ranks than cores is not kept busy by those that wait.
class Backoff {
 public:
  // Rests, and asks `patience` now and then.
  void rest(const Patience& patience);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace lockstep::comm::mpi

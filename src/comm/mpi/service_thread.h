#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "../engine.h"

namespace lockstep::comm::mpi {

// A thread that runs what it is given, in order. It is never joined: MPI may hold it for good, and the end of the
// process must not wait for that.
class ServiceThread {
 public:
  ServiceThread();

  // Runs `task` there and returns when it is done; throws what it throws. When `patience` throws first, so does this,
  // and the task is left to itself: it must own what it uses.
  void run(std::function<void()> task, const Patience* patience = nullptr);

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> tasks;
  };
  std::shared_ptr<State> state_;
};

}  // namespace lockstep::comm::mpi

// The one thread of this process that is inside oneCCL. Callers hand it their operations and wait outside, because some
// of what oneCCL does cannot be given up: it makes communicators in calls that wait for other ranks, and libfabric's
// shared memory has locks that a killed rank never releases. A thread that is caught there is left behind.
//
// It runs on LOCKSTEP_COMM_CPUS, or within the affinity mask of the rank where that is not set.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include <oneapi/ccl.hpp>

#include "../engine.h"

namespace lockstep::comm::ccl {

class Worker {
 public:
  // Lives as long as the process.
  static Worker& get();

  // Runs `start` in the thread and returns when its event is complete; meanwhile other operations go on. Throws what
  // `patience` throws, and RuntimeError when oneCCL fails; then oneCCL is given up, and so is every later operation of
  // this process: one that was abandoned still has its memory, and would go on with it.
  void complete(std::function<::ccl::event()> start, const Patience& patience);

  // As complete(), for a call that returns when it is done. Other operations stand still meanwhile. If it waits for
  // other ranks it must call check() again and again.
  void call(std::function<void()> function, const Patience& patience);

  // In call(): throws RuntimeError when its caller has given up.
  void check();

 private:
  struct Task {
    std::function<::ccl::event()> start;
    std::unique_ptr<::ccl::event> event;  // once it is started
    bool done = false;
    std::exception_ptr error;
  };
  using TaskPtr = std::shared_ptr<Task>;

  Worker();
  bool wait_for(const Task& task, std::chrono::milliseconds limit);
  void give_up();

  // In the thread.
  void loop();
  void start_arrivals();
  bool poll_active();
  void finish(Task& task, std::exception_ptr error);

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable changed_;
  std::deque<TaskPtr> arriving_;
  bool given_up_ = false;
  bool stopped_ = false;       // the thread has left oneCCL for good
  std::list<TaskPtr> active_;  // the thread's own
};

}  // namespace lockstep::comm::ccl

#include "worker.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <lockstep/base/comm_cpus.h>
#include <lockstep/base/errors.h>

namespace lockstep::comm::ccl {
namespace {

using namespace std::chrono_literals;

// Rounds without news after which the thread lets others have its core: where there are more ranks than cores, one of
// them is waited for.
constexpr int kEagerRounds = 100;
// How often a caller asks its patience.
constexpr auto kPatienceInterval = 20ms;
// How long an abandoned operation may take to come to a stop before the thread counts as caught.
constexpr auto kTimeToStop = 500ms;
// How long after an error of oneCCL the loss of a rank, which is the better half of the message, may become known.
constexpr auto kTimeToLearnOfLoss = 2s;

RuntimeError no_longer() {
  return RuntimeError("an earlier operation of oneCCL in this process was given up");
}

[[noreturn]] void explain(const std::exception& error, const Patience& patience) {
  const auto deadline = std::chrono::steady_clock::now() + kTimeToLearnOfLoss;
  while (std::chrono::steady_clock::now() < deadline) {
    patience.check();
    std::this_thread::sleep_for(kPatienceInterval);
  }
  throw RuntimeError({.message = std::string("oneCCL failed: ") + error.what(),
                      .next = "CCL_LOG_LEVEL=info tells more; the backend gloo does without oneCCL"});
}

}  // namespace

Worker& Worker::get() {
  static Worker worker;
  return worker;
}

Worker::Worker() {
  std::thread thread([this] {
    move_to_comm_cpus();
    loop();
  });
  ::pthread_setname_np(thread.native_handle(), "ls-ccl-worker");
  thread.detach();
}

void Worker::call(std::function<void()> function, const Patience& patience) {
  complete(
      [function = std::move(function)] {
        function();
        return ::ccl::event();
      },
      patience);
}

void Worker::complete(std::function<::ccl::event()> start, const Patience& patience) {
  const auto task = std::make_shared<Task>(Task{.start = std::move(start)});
  {
    const std::lock_guard lock(mutex_);
    if (given_up_) throw no_longer();
    arriving_.push_back(task);
  }
  arrived_.notify_one();
  try {
    while (!wait_for(*task, kPatienceInterval)) patience.check();
    if (task->error) std::rethrow_exception(task->error);
  } catch (const Error&) {
    give_up();
    patience.check();  // its reason is the better one
    throw;
  } catch (const std::exception& error) {
    give_up();
    explain(error, patience);
  }
}

bool Worker::wait_for(const Task& task, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return task.done; });
}

void Worker::give_up() {
  std::unique_lock lock(mutex_);
  given_up_ = true;
  arrived_.notify_one();
  changed_.wait_for(lock, kTimeToStop, [this] { return stopped_; });
}

void Worker::loop() {
  for (int idle = 0;;) {
    {
      std::unique_lock lock(mutex_);
      if (active_.empty()) arrived_.wait(lock, [this] { return given_up_ || !arriving_.empty(); });
      if (given_up_) break;
    }
    start_arrivals();
    idle = poll_active() ? 0 : std::min(idle + 1, kEagerRounds);
    if (idle == kEagerRounds) std::this_thread::yield();
  }
  for (const TaskPtr& task : active_) (void)task->event.release();  // its destructor would wait for the operation
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  arriving_.insert(arriving_.end(), active_.begin(), active_.end());
  for (const TaskPtr& task : arriving_) {
    task->done = true;
    task->error = std::make_exception_ptr(no_longer());
  }
  changed_.notify_all();
}

void Worker::start_arrivals() {
  for (;;) {
    TaskPtr task;
    {
      const std::lock_guard lock(mutex_);
      if (given_up_ || arriving_.empty()) return;
      task = std::move(arriving_.front());
      arriving_.pop_front();
    }
    try {
      task->event = std::make_unique<::ccl::event>(task->start());
      active_.push_back(task);
    } catch (...) {
      finish(*task, std::current_exception());
    }
  }
}

bool Worker::poll_active() {
  const std::size_t before = active_.size();
  active_.remove_if([this](const TaskPtr& task) {
    try {
      if (!task->event->test()) return false;
      finish(*task, nullptr);
    } catch (...) {
      (void)task->event.release();
      finish(*task, std::current_exception());
    }
    return true;
  });
  return active_.size() != before;
}

void Worker::check() {
  const std::lock_guard lock(mutex_);
  if (given_up_) throw no_longer();
}

void Worker::finish(Task& task, std::exception_ptr error) {
  task.event.reset();
  {
    const std::lock_guard lock(mutex_);
    task.error = std::move(error);
    task.done = true;
  }
  changed_.notify_all();
}

}  // namespace lockstep::comm::ccl

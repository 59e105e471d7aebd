#pragma once
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

namespace lockstep::parallel {

// A thread that lives as long as the object and runs one task after another. It is kept between tasks because a new
// thread would bring a new team of OpenMP threads with it.
class DeviceThread {
 public:
  using Task = std::packaged_task<void()>;

  DeviceThread() : thread_([this] { loop(); }) {}
  DeviceThread(const DeviceThread&) = delete;
  DeviceThread& operator=(const DeviceThread&) = delete;
  ~DeviceThread() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  // Returns at once. The one before must have ended.
  std::future<void> start(Task task) {
    std::future<void> done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      task_ = std::move(task);
    }
    changed_.notify_one();
    return done;
  }

 private:
  void loop() {
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return task_ || ending_; });
      if (!task_) return;
      Task task = *std::exchange(task_, std::nullopt);
      lock.unlock();
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Task> task_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace lockstep::parallel

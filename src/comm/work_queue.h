#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "engine_work.h"

namespace lockstep::comm {

// Runs the collectives of one engine, one after another in the order of submission. The first that fails breaks the
// queue: those behind it fail with the same error, because the ranks no longer agree on what comes next.
class WorkQueue {
 public:
  using Task = std::function<void(const Patience& patience)>;
  struct Entry {
    c10::intrusive_ptr<EngineWork> work;
    Task task;
    std::chrono::milliseconds timeout;
  };

  WorkQueue(std::string thread_name, std::shared_ptr<Watch> watch);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  // Lets what is running end, and fails what waits behind it.
  ~WorkQueue();

  // Runs it in the one way or the other.
  void start(Entry entry, bool async) { async ? submit(std::move(entry)) : run(std::move(entry)); }

  // For a caller that waits at once: runs in the caller's thread when nothing is ahead of it, which saves two switches
  // between threads. Complete when it returns.
  void run(Entry entry);

  // For a caller that goes on: runs in the queue's thread, which starts with the first such entry.
  void submit(Entry entry);

 private:
  void loop();
  void execute(Entry& entry);

  std::string thread_name_;
  std::shared_ptr<Watch> watch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> entries_;
  bool busy_ = false;  // an entry is being executed, by either thread
  bool ending_ = false;
  std::exception_ptr broken_;
  std::thread thread_;
};

}  // namespace lockstep::comm

#include "work_queue.h"

#include <pthread.h>

#include <lockstep/base/comm_cpus.h>
#include <lockstep/base/errors.h>

namespace lockstep::comm {

WorkQueue::WorkQueue(std::string thread_name, std::shared_ptr<Watch> watch)
    : thread_name_(std::move(thread_name)), watch_(std::move(watch)) {}

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  const auto closed = std::make_exception_ptr(RuntimeError("the group was closed before the operation ran"));
  for (Entry& entry : entries_) entry.work->fail(closed);
}

void WorkQueue::run(Entry entry) {
  std::unique_lock lock(mutex_);
  if (busy_ || !entries_.empty()) {
    lock.unlock();
    const auto work = entry.work;
    submit(std::move(entry));
    work->wait();
    return;
  }
  busy_ = true;
  lock.unlock();
  execute(entry);
  lock.lock();
  busy_ = false;
  const bool others_wait = !entries_.empty();
  lock.unlock();
  if (others_wait) changed_.notify_all();
}

void WorkQueue::submit(Entry entry) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
    if (!thread_.joinable()) {
      thread_ = std::thread([this] {
        move_to_comm_cpus();
        loop();
      });
      ::pthread_setname_np(thread_.native_handle(), thread_name_.substr(0, 15).c_str());
    }
  }
  changed_.notify_all();
}

void WorkQueue::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || (!busy_ && !entries_.empty()); });
    if (ending_) return;
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    busy_ = true;
    lock.unlock();
    execute(entry);
    entry = {};  // releases tensors outside the lock
    lock.lock();
    busy_ = false;
  }
}

void WorkQueue::execute(Entry& entry) {
  try {
    if (broken_) std::rethrow_exception(broken_);
    entry.task(OperationPatience(entry.work->operation(), entry.timeout, *watch_));
    watch_->end(entry.work->operation(), true);
    entry.work->complete();
  } catch (...) {
    broken_ = std::current_exception();
    watch_->end(entry.work->operation(), false);
    entry.work->fail(broken_);
  }
}

}  // namespace lockstep::comm

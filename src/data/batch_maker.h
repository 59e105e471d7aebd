#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bad_samples.h"
#include "batch_job.h"
#include "device_copy.h"
#include "filler.h"

namespace lockstep::data {

// Threads that fill batches. All work on the oldest batch that has slots left, a few slots at a time: so batches become
// ready in their order, and one batch's memory serves all workers.
class BatchMaker {
 public:
  // `device` may be null. All must live longer than this.
  BatchMaker(const Filler& filler, BadSamples& bad, DeviceCopy* device, int workers);
  // Waits for the samples that workers are busy with.
  ~BatchMaker();
  BatchMaker(const BatchMaker&) = delete;
  BatchMaker& operator=(const BatchMaker&) = delete;

  // Puts a batch behind those that are there.
  void add(std::shared_ptr<BatchJob> job);

  // Waits for the oldest batch and takes it out. Throws what went wrong with it, and TimeoutError.
  std::shared_ptr<BatchJob> take(std::chrono::milliseconds timeout);

  // Forgets all batches. Workers end what they are busy with.
  void clear();

  std::size_t count() const;

 private:
  struct Worker {
    Pipeline::Scratch scratch;
    std::atomic<std::int64_t> sample = kIdle;  // what it is busy with
    std::thread thread;
  };
  struct Slots {
    std::shared_ptr<BatchJob> job;
    std::size_t first = 0, end = 0;
  };
  static constexpr std::int64_t kIdle = -1;

  void end();
  void work(Worker& worker);
  Slots wait_for_slots();
  Slots take_slots();
  bool try_to_fill(Worker& worker, const BatchJob& job, std::size_t slot);
  void fill(Worker& worker, BatchJob& job, std::size_t slot);
  void finish(BatchJob& job);
  std::string busy_with() const;

  const Filler& filler_;
  BadSamples& bad_;
  const std::size_t count_;  // of workers
  DeviceCopy* const device_;
  mutable std::mutex mutex_;
  std::condition_variable work_there_, batch_ready_;
  std::deque<std::shared_ptr<BatchJob>> jobs_;
  bool ending_ = false;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace lockstep::data

#include "batch_maker.h"

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "sample_stream.h"

namespace lockstep::data {
namespace {

// Slots that a worker takes at once: few enough that all are busy to the end of a batch, many enough that small samples
// do not make them queue for the mutex.
std::size_t slots_at_once(std::size_t batch, std::size_t workers) {
  return std::clamp<std::size_t>(batch / (workers * 4), 1, 16);
}

}  // namespace

BatchMaker::BatchMaker(const Filler& filler, BadSamples& bad, DeviceCopy* device, int workers)
    : filler_(filler), bad_(bad), count_(static_cast<std::size_t>(workers)), device_(device) {
  try {
    while (workers_.size() < count_) {
      Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
      worker.thread = std::thread([this, &worker] { work(worker); });
    }
  } catch (...) {
    end();
    throw;
  }
}

BatchMaker::~BatchMaker() {
  end();
}

void BatchMaker::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_there_.notify_all();
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void BatchMaker::add(std::shared_ptr<BatchJob> job) {
  const std::lock_guard lock(mutex_);
  job->ready = job->samples.empty();
  jobs_.push_back(std::move(job));
  work_there_.notify_all();
}

std::shared_ptr<BatchJob> BatchMaker::take(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<BatchJob> job = jobs_.front();
  if (!batch_ready_.wait_for(lock, timeout, [&] { return job->ready; })) {
    lock.unlock();  // a set may look its names up in storage that does not answer
    throw TimeoutError({.message = fmt::format("a batch was not made within {}", format_duration(timeout)),
                        .found = busy_with(),
                        .next = "look whether the storage answers; raise the loader's timeout if it is only slow"});
  }
  jobs_.pop_front();
  if (job->error) std::rethrow_exception(job->error);
  return job;
}

void BatchMaker::clear() {
  const std::lock_guard lock(mutex_);
  jobs_.clear();
}

std::size_t BatchMaker::count() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

std::string BatchMaker::busy_with() const {
  std::vector<std::string> names;
  for (const auto& worker : workers_) {
    if (const std::int64_t sample = worker->sample; sample != kIdle) names.push_back(filler_.name(sample));
  }
  return names.empty() ? "no worker is busy" : "workers are busy with " + format_some(names, 8);
}

void BatchMaker::work(Worker& worker) {
  for (Slots slots = wait_for_slots(); slots.job; slots = wait_for_slots()) {
    BatchJob& job = *slots.job;
    for (std::size_t slot = slots.first; slot < slots.end; ++slot) fill(worker, job, slot);
    std::unique_lock lock(mutex_);
    job.filled += slots.end - slots.first;
    if (job.filled < job.samples.size()) continue;
    if (!job.error) {
      lock.unlock();
      finish(job);
      lock.lock();
    }
    job.ready = true;
    batch_ready_.notify_all();
  }
}

// Those of no job at the end.
BatchMaker::Slots BatchMaker::wait_for_slots() {
  std::unique_lock lock(mutex_);
  Slots slots;
  work_there_.wait(lock, [&] {
    if (!ending_) slots = take_slots();
    return ending_ || slots.job;
  });
  return slots;
}

BatchMaker::Slots BatchMaker::take_slots() {
  const auto job = std::find_if(jobs_.begin(), jobs_.end(), [](const auto& j) { return j->taken < j->samples.size(); });
  if (job == jobs_.end()) return {};
  BatchJob& found = **job;
  const std::size_t first = found.taken;
  found.taken = std::min(found.samples.size(), first + slots_at_once(found.samples.size(), count_));
  return {.job = *job, .first = first, .end = found.taken};
}

// False when the sample is bad and may be skipped.
bool BatchMaker::try_to_fill(Worker& worker, const BatchJob& job, std::size_t slot) {
  const std::int64_t sample = job.samples[slot];
  if (bad_.contains(sample)) return false;
  worker.sample = sample;
  try {
    filler_.fill(sample, stream_of(job.state, sample), worker.scratch, job.tensors, static_cast<std::int64_t>(slot));
    return true;
  } catch (const SampleError& error) {
    bad_.add(sample, error);
    return false;
  }
}

// Where samples may be skipped, those after a bad one stand in for it.
void BatchMaker::fill(Worker& worker, BatchJob& job, std::size_t slot) {
  std::int64_t& sample = job.samples[slot];
  try {
    for (std::int64_t left = filler_.size(); !try_to_fill(worker, job, slot); sample = (sample + 1) % filler_.size()) {
      if (--left == 0) throw UsageError("no sample of the data set can be read");
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!job.error || slot < job.error_slot) {
      job.error = std::current_exception();
      job.error_slot = slot;
    }
  }
  worker.sample = kIdle;
}

void BatchMaker::finish(BatchJob& job) {
  try {
    filler_.finish(job.tensors, batch_stream_of(job.state, job.samples.front()));
    if (device_ != nullptr) job.on_device = device_->start(job.tensors);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    job.error = std::current_exception();
  }
}

}  // namespace lockstep::data

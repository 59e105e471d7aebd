#include "event_writer.h"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/log.h>
#include <lockstep/base/text.h>

#include "event_file.h"
#include "record.h"

namespace lockstep::tensorboard {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct EventWriter::State {
  State(const std::filesystem::path& folder, const EventWriterOptions& from)
      : options(from), file(folder, from.suffix) {}

  void run();
  bool has_work() const { return closing || flushes_done < flushes_asked || queued >= options.max_queue; }
  void write(std::unique_lock<std::mutex>& lock);
  void lose(int count, const std::string& why);
  void wait_for_flush(std::unique_lock<std::mutex>& lock);

  const EventWriterOptions options;
  EventFile file;

  std::mutex mutex;
  std::condition_variable work, progress;  // for the thread; for those who wait for it
  std::string records;                     // the queue, already as the file will have it
  int queued = 0;
  Clock::time_point oldest;
  std::uint64_t flushes_asked = 0, flushes_done = 0;
  bool closing = false, ended = false;
  bool failing = false;  // the log has said so
  std::int64_t lost = 0;
  std::string problem;
};

void EventWriter::State::run() {
  std::unique_lock lock(mutex);
  while (!closing) {
    if (queued == 0) {
      work.wait(lock, [this] { return has_work() || queued > 0; });
    } else {
      work.wait_until(lock, oldest + options.flush_interval, [this] { return has_work(); });
    }
    if (has_work() || (queued > 0 && Clock::now() >= oldest + options.flush_interval)) write(lock);
  }
  write(lock);
  ended = true;
  progress.notify_all();
}

// Everything that is queued, without holding the lock while the disk works.
void EventWriter::State::write(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t flush = flushes_asked;
  const bool sync = closing || flush > flushes_done || queued < options.max_queue;
  const std::string taken = std::exchange(records, {});
  const int count = std::exchange(queued, 0);
  lock.unlock();
  int failed = taken.empty() ? 0 : file.append(taken);
  const bool written = failed == 0;
  if (written && sync) failed = file.sync();
  lock.lock();
  if (failed != 0) {
    lose(written ? 0 : count, std::strerror(failed));
  } else if (failing && count > 0) {
    failing = false;
    log::info("TensorBoard's events are written to '{}' again; lost: {}", file.path().string(),
              format_plural(lost, "event"));
  }
  flushes_done = flush;
  progress.notify_all();
}

void EventWriter::State::lose(int count, const std::string& why) {
  lost += count;
  problem = fmt::format("cannot write to '{}': {}", file.path().string(), why);
  if (!std::exchange(failing, true)) log::warning("{}; events for TensorBoard are lost until it works again", problem);
}

void EventWriter::State::wait_for_flush(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t flush = ++flushes_asked;
  work.notify_one();
  if (!progress.wait_for(lock, options.timeout, [&] { return flushes_done >= flush || ended; })) {
    lose(0, fmt::format("the disk did not answer within {}", format_duration(options.timeout)));
  }
}

EventWriter::EventWriter(const std::filesystem::path& folder, const EventWriterOptions& options)
    : state_(std::make_shared<State>(folder, options)) {
  std::thread([state = state_] { state->run(); }).detach();
}

EventWriter::~EventWriter() {
  close();
}

const std::filesystem::path& EventWriter::file() const {
  return state_->file.path();
}

void EventWriter::add(std::string_view event) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (state.closing) return;
  if (!state.progress.wait_for(lock, state.options.timeout, [&] { return state.queued < state.options.max_queue; })) {
    state.lose(1, fmt::format("the disk did not answer within {}", format_duration(state.options.timeout)));
    return;
  }
  if (state.queued++ == 0) state.oldest = Clock::now();
  append_record(state.records, event);
  // The first event starts the interval, the last one ends the wait.
  if (state.queued == 1 || state.has_work()) state.work.notify_one();
}

void EventWriter::flush() {
  std::unique_lock lock(state_->mutex);
  if (!state_->ended) state_->wait_for_flush(lock);
}

void EventWriter::close() {
  std::unique_lock lock(state_->mutex);
  if (std::exchange(state_->closing, true)) return;
  state_->wait_for_flush(lock);
}

std::string EventWriter::take_problem() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->problem, {});
}

}  // namespace lockstep::tensorboard

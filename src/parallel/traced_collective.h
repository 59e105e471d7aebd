// Collectives on the timeline, for those who do not keep times of their own.
#pragma once
#include <algorithm>
#include <atomic>
#include <memory>

#include <lockstep/comm/work.h>
#include <lockstep/trace/span.h>

namespace lockstep::parallel {

// One that this thread waits for at once: under way and waited for alike.
class [[nodiscard]] TracedWait {
 public:
  // `wait_name` is what the waiting is called: "all_reduce.wait".
  TracedWait(const char* name, const char* wait_name, std::size_t bytes)
      : name_(name), bytes_(bytes), began_(trace::now()), span_(wait_name) {}
  ~TracedWait() {
    if (trace::on()) trace::add_communication(name_, began_, trace::now(), {{{"bytes", bytes_as_number()}}});
  }
  TracedWait(const TracedWait&) = delete;
  TracedWait& operator=(const TracedWait&) = delete;

 private:
  std::int64_t bytes_as_number() const { return static_cast<std::int64_t>(bytes_); }

  const char* name_;
  std::size_t bytes_;
  trace::Clock::time_point began_;
  trace::Span span_;
};

// One of several that are under way together, and that a backend carries out one after another.
class TracedWork {
 public:
  TracedWork() = default;
  TracedWork(Work& work, std::size_t bytes) {
    if (!trace::on()) return;
    bytes_ = static_cast<std::int64_t>(bytes);
    started_ = trace::now();
    ended_ = std::make_shared<std::atomic<trace::Clock::rep>>(0);
    work.on_done([ended = ended_] { *ended = trace::Clock::now().time_since_epoch().count(); });
  }

  // After it has been waited for. `busy_until` is when the one before it had ended, and becomes when this one had.
  void end(trace::Clock::time_point& busy_until) {
    if (!ended_) return;
    const auto began = std::max(started_, busy_until);
    busy_until = std::max(began, trace::Clock::time_point(trace::Clock::duration(ended_->load())));
    trace::add_communication("all_reduce", began, busy_until, {{{"bytes", bytes_}}});
    ended_.reset();
  }

 private:
  std::int64_t bytes_ = 0;
  trace::Clock::time_point started_;
  std::shared_ptr<std::atomic<trace::Clock::rep>> ended_;  // null: it is not traced
};

}  // namespace lockstep::parallel

// Where time goes, written down while it is asked for. Switched off, a span costs one load.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockstep::trace {

// CLOCK_MONOTONIC, which all processes of a machine share.
using Clock = std::chrono::steady_clock;

// A number that goes with a span: {"bytes", 4096}. The name is a literal.
struct Detail {
  const char* name = nullptr;
  std::int64_t value = 0;
};
using Details = std::array<Detail, 3>;

namespace internal {
extern std::atomic<bool> recording;
Clock::time_point settled_now();
void add(const char* name, Clock::time_point began, const Details& details);
}  // namespace internal

inline bool on() {
  return internal::recording.load(std::memory_order_relaxed);
}

// The time, when what was handed over to a device is done, if the recording wants that (RecorderOptions::settle).
inline Clock::time_point now() {
  return on() ? internal::settled_now() : Clock::now();
}

// From its making to its end, on this thread's track. `name` is a literal.
class [[nodiscard]] Span {
 public:
  explicit Span(const char* name, const Details& details = {}) {
    if (!on()) return;
    name_ = name;
    details_ = details;
    began_ = internal::settled_now();
  }
  ~Span() {
    if (name_ != nullptr) internal::add(name_, began_, details_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  const char* name_ = nullptr;
  Details details_;
  Clock::time_point began_;
};

// Work of which several threads take care, such as a collective: on the track "communication" of the process. Does
// nothing when switched off.
void add_communication(const char* name, Clock::time_point began, Clock::time_point ended, const Details& details = {});

}  // namespace lockstep::trace

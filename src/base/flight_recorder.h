// The last collectives and messages of this process, in memory that a crash handler can still read.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lockstep {

// Text of a fixed size, cut where it is longer; printable ASCII without quotes and backslashes, so that it can be
// written as JSON without another thought.
template <std::size_t Size>
class FixedText {
 public:
  FixedText() = default;
  explicit FixedText(std::string_view text) {
    for (std::size_t i = 0; i < text.size() && i + 1 < Size; ++i) {
      const char c = text[i];
      text_[i] = c < ' ' || c > '~' || c == '"' || c == '\\' ? '?' : c;
    }
  }
  const char* c_str() const { return text_.data(); }

 private:
  std::array<char, Size> text_{};
};

struct FlightEntry {
  enum class State : std::uint8_t { kRunning, kDone, kFailed };

  std::uint64_t ticket = 0;    // counts all entries of the process, from 1; 0: nothing is here
  std::uint64_t sequence = 0;  // counts the group's collectives, from 1; 0 for a message between two ranks
  FixedText<48> group;
  FixedText<24> name;
  FixedText<80> tensor;
  std::int64_t started = 0;  // nanoseconds of the system's clock
  std::int64_t ended = 0;
  State state = State::kRunning;

  std::chrono::duration<double> age() const;  // since it started
};

const char* to_text(FlightEntry::State state);

class FlightRecorder {
 public:
  static constexpr std::size_t kEntries = 100;

  // The one of this process.
  static FlightRecorder& instance();

  // Returns the ticket for `end`. Any thread may call either.
  std::uint64_t start(std::string_view group, std::string_view name, std::uint64_t sequence, std::string_view tensor);
  void end(std::uint64_t ticket, bool good);

  // What is kept, oldest first.
  std::vector<FlightEntry> recent() const;

  // The entry at a place, without a lock: for a crash handler, which has nobody to wait for.
  const FlightEntry& at(std::size_t place) const { return entries_[place]; }

 private:
  void lock() const;
  void unlock() const { busy_.clear(std::memory_order_release); }

  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::uint64_t last_ticket_ = 0;
  std::array<FlightEntry, kEntries> entries_{};
};

}  // namespace lockstep

#include "flight_recorder.h"

#include <algorithm>
#include <thread>

#include <lockstep/base/rank_page.h>

namespace lockstep {
namespace {

std::int64_t now() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::chrono::duration<double> FlightEntry::age() const {
  return std::chrono::nanoseconds(now() - started);
}

const char* to_text(FlightEntry::State state) {
  switch (state) {
    case FlightEntry::State::kRunning:
      return "running";
    case FlightEntry::State::kDone:
      return "done";
    case FlightEntry::State::kFailed:
      return "failed";
  }
  return "unknown";
}

FlightRecorder& FlightRecorder::instance() {
  static FlightRecorder recorder;
  return recorder;
}

// Held for some stores only, so nobody ever waits long; and a thread that dies here cannot poison it for the crash
// handler, which does not take it.
void FlightRecorder::lock() const {
  while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
}

std::uint64_t FlightRecorder::start(std::string_view group, std::string_view name, std::uint64_t sequence,
                                    std::string_view tensor) {
  FlightEntry entry;
  entry.sequence = sequence;
  entry.group = FixedText<48>(group);
  entry.name = FixedText<24>(name);
  entry.tensor = FixedText<80>(tensor);
  entry.started = now();
  lock();
  entry.ticket = ++last_ticket_;
  entries_[entry.ticket % kEntries] = entry;
  unlock();
  if (RankPage* page = RankPage::of_this_process()) page->begin(name, sequence, tensor);
  return entry.ticket;
}

void FlightRecorder::end(std::uint64_t ticket, bool good) {
  const std::int64_t time = now();
  lock();
  FlightEntry& entry = entries_[ticket % kEntries];
  if (entry.ticket == ticket) {  // else it was so long ago that another has taken its place
    entry.ended = time;
    entry.state = good ? FlightEntry::State::kDone : FlightEntry::State::kFailed;
  }
  unlock();
  if (RankPage* page = RankPage::of_this_process()) page->end();
}

std::vector<FlightEntry> FlightRecorder::recent() const {
  std::vector<FlightEntry> result;
  result.reserve(kEntries);
  lock();
  for (const FlightEntry& entry : entries_) {
    if (entry.ticket != 0) result.push_back(entry);
  }
  unlock();
  std::sort(result.begin(), result.end(), [](const auto& a, const auto& b) { return a.ticket < b.ticket; });
  return result;
}

}  // namespace lockstep

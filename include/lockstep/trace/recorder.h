// Collects the spans of this process.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <lockstep/trace/span.h>

namespace lockstep::trace {

struct Event {
  std::string name;
  std::int64_t began = 0, ended = 0;  // nanoseconds of Clock
  std::vector<std::pair<std::string, std::int64_t>> details;
};

struct Track {
  std::string name;  // "main", "communication", the thread's own name, "cuda:0 stream 7"
  std::vector<Event> events;
};

struct Recording {
  std::vector<Track> tracks;
  std::int64_t lost = 0;  // events for which there was no room
};

struct RecorderOptions {
  // Room for so many events of each thread, 72 bytes each, taken when its first event comes.
  std::size_t events_of_thread = 1 << 14;
  // More threads than these are not recorded.
  std::size_t threads = 64;
  // Called before each time that is taken. Where work is only handed over, to a GPU, this waits for it, so that a span
  // is as long as its work. Slows it down.
  std::function<void()> settle = {};
};

// The calling thread becomes "main". Throws UsageError if the process is being recorded already.
void start_recording(const RecorderOptions& options = {});

// Spans that are open now are left out. Without start_recording it is empty.
Recording stop_recording();

}  // namespace lockstep::trace

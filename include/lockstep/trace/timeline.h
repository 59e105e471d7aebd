// What the ranks of a job did, on one clock.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/trace/recorder.h>

namespace lockstep::trace {

// Steps of a run: from when `first` of them are done until `end` are.
struct StepWindow {
  std::int64_t first = 0, end = 0;
};

// "steps=10:15" or "10:15": the five steps after the tenth. UsageError for another form, and for an empty or a very
// long window.
StepWindow parse_window(const std::string& text);

// What to add to times of a rank's clock for times of rank 0's, in nanoseconds.
struct ClockOffset {
  std::int64_t nanoseconds = 0;
  std::int64_t uncertainty = 0;  // either way; 0 where both have one clock
};

struct RankTimeline {
  int rank = 0;
  std::string host;
  std::int64_t process = 0;  // its pid
  ClockOffset clock;
  Recording recording;
};

// To travel from a rank to the one that writes. The second throws RuntimeError for text that the first has not made.
std::string pack(const RankTimeline& timeline);
RankTimeline unpack(const std::string& text);

// In the Trace Event Format, which Perfetto and chrome://tracing open: a process for each rank, with its tracks.
// `about` stands among its metadata.
std::string chrome_trace(const std::vector<RankTimeline>& timelines, const nlohmann::ordered_json& about);

// What one rank did, from such a trace of ours. Throws UsageError for another text.
Recording read_chrome_trace(const std::string& trace, int rank);

// Writes it so that a crash leaves all or nothing; compressed where the name ends in .gz.
void write_trace(const std::string& path, const std::string& trace);

}  // namespace lockstep::trace

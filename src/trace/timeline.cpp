#include <lockstep/trace/timeline.h>

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>

namespace lockstep::trace {
namespace {

using nlohmann::json;

// Nanoseconds as the microseconds that the format has, to the nanosecond.
std::string microseconds(std::int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

std::int64_t nanoseconds(const json& microseconds) {
  return std::llround(microseconds.get<double>() * 1e3);
}

std::string quoted(const std::string& text) {
  return json(escape_controls(text)).dump();
}

// By which a trace tells processes and threads apart. Viewers take 0 for a CPU that is idle, and threads of one number
// for one thread even when their processes differ; so no number is there twice, but for a process and its main thread.
class Numbers {
 public:
  // Its own number where it can be: processes of two machines may have the same, and none has more than seven digits.
  std::int64_t of_process(std::int64_t own) {
    while (!taken_.insert(own).second) own += 10'000'000;
    return own;
  }
  std::int64_t next() {
    while (!taken_.insert(next_).second) ++next_;
    return next_;
  }

 private:
  std::set<std::int64_t> taken_ = {0};
  std::int64_t next_ = 1;
};

void add_name(std::string& trace, const char* what, std::int64_t process, std::int64_t thread, const std::string& name,
              std::size_t order) {
  trace += fmt::format(
      "{{\"ph\":\"M\",\"name\":\"{0}_name\",\"pid\":{1},\"tid\":{2},\"args\":{{\"name\":{3}}}}},\n"
      "{{\"ph\":\"M\",\"name\":\"{0}_sort_index\",\"pid\":{1},\"tid\":{2},\"args\":{{\"sort_index\":{4}}}}},\n",
      what, process, thread, quoted(name), order);
}

void add_event(std::string& trace, std::int64_t process, std::int64_t thread, const Event& event, std::int64_t shift) {
  trace += fmt::format("{{\"ph\":\"X\",\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{}", quoted(event.name),
                       process, thread, microseconds(event.began + shift), microseconds(event.ended - event.began));
  if (!event.details.empty()) {
    trace += ",\"args\":{";
    for (const auto& [name, value] : event.details) {
      trace += fmt::format("{}{}:{}", trace.back() == '{' ? "" : ",", quoted(name), value);
    }
    trace += '}';
  }
  trace += "},\n";
}

std::int64_t earliest(const std::vector<RankTimeline>& timelines) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const RankTimeline& timeline : timelines) {
    for (const Track& track : timeline.recording.tracks) {
      for (const Event& event : track.events) first = std::min(first, event.began + timeline.clock.nanoseconds);
    }
  }
  return first;
}

std::int64_t process_of(const json& events, int rank) {
  for (const json& event : events) {
    if (event.at("name") == "process_sort_index" && event.at("args").at("sort_index") == rank) return event.at("pid");
  }
  throw UsageError({.message = "this is no trace of lockstep's", .found = fmt::format("no rank {} in it", rank)});
}

std::string compressed(const std::string& text) {
  constexpr int kGzip = 15 + 16, kMemory = 8;
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw RuntimeError("zlib cannot begin to compress the trace");
  }
  std::string result(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  const int status = ::deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (status != Z_STREAM_END) throw RuntimeError("zlib did not compress the trace");
  return result;
}

}  // namespace

std::string pack(const RankTimeline& timeline) {
  json tracks = json::array();
  for (const Track& track : timeline.recording.tracks) {
    json events = json::array();
    for (const Event& event : track.events) events.push_back({event.name, event.began, event.ended, event.details});
    tracks.push_back({{"name", track.name}, {"events", std::move(events)}});
  }
  return json{{"rank", timeline.rank},
              {"host", timeline.host},
              {"process", timeline.process},
              {"offset", timeline.clock.nanoseconds},
              {"uncertainty", timeline.clock.uncertainty},
              {"lost", timeline.recording.lost},
              {"tracks", std::move(tracks)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

RankTimeline unpack(const std::string& text) {
  try {
    const json value = json::parse(text);
    RankTimeline timeline{.rank = value.at("rank"),
                          .host = value.at("host"),
                          .process = value.at("process"),
                          .clock = {.nanoseconds = value.at("offset"), .uncertainty = value.at("uncertainty")},
                          .recording = {.tracks = {}, .lost = value.at("lost")}};
    for (const json& track : value.at("tracks")) {
      Track& next = timeline.recording.tracks.emplace_back(Track{.name = track.at("name"), .events = {}});
      for (const json& event : track.at("events")) {
        next.events.push_back(
            {.name = event.at(0), .began = event.at(1), .ended = event.at(2), .details = event.at(3)});
      }
    }
    return timeline;
  } catch (const json::exception& error) {
    throw RuntimeError({.message = "a rank's timeline cannot be read", .found = error.what()});
  }
}

std::string chrome_trace(const std::vector<RankTimeline>& timelines, const nlohmann::ordered_json& about) {
  std::string trace = "{\"displayTimeUnit\":\"ms\",\"otherData\":" + about.dump() + ",\n\"traceEvents\":[\n";
  const std::int64_t start = earliest(timelines);
  Numbers numbers;
  std::vector<std::int64_t> processes;
  for (const RankTimeline& timeline : timelines) processes.push_back(numbers.of_process(timeline.process));
  for (std::size_t rank = 0; rank < timelines.size(); ++rank) {
    const RankTimeline& timeline = timelines[rank];
    const std::int64_t process = processes[rank];
    add_name(trace, "process", process, process, fmt::format("rank {} on {}", timeline.rank, timeline.host),
             static_cast<std::size_t>(timeline.rank));
    for (std::size_t i = 0; i < timeline.recording.tracks.size(); ++i) {
      const Track& track = timeline.recording.tracks[i];
      const std::int64_t thread = track.name == "main" ? process : numbers.next();
      add_name(trace, "thread", process, thread, track.name, i);
      for (const Event& event : track.events) {
        add_event(trace, process, thread, event, timeline.clock.nanoseconds - start);
      }
    }
  }
  if (trace.ends_with(",\n")) trace.erase(trace.size() - 2, 1);
  return trace + "]}\n";
}

Recording read_chrome_trace(const std::string& trace, int rank) {
  try {
    std::map<std::int64_t, Track> tracks;
    const json value = json::parse(trace);
    const std::int64_t process = process_of(value.at("traceEvents"), rank);
    for (const json& event : value.at("traceEvents")) {
      if (event.at("pid") != process) continue;
      Track& track = tracks[event.at("tid").get<std::int64_t>()];
      if (event.at("name") == "thread_name") track.name = event.at("args").at("name");
      if (event.at("ph") != "X") continue;
      const std::int64_t began = nanoseconds(event.at("ts")), length = nanoseconds(event.at("dur"));
      Event& next = track.events.emplace_back(
          Event{.name = event.at("name"), .began = began, .ended = began + length, .details = {}});
      if (!event.contains("args")) continue;
      for (const auto& [name, number] : event["args"].items()) next.details.emplace_back(name, number);
    }
    Recording recording;
    for (auto& [number, track] : tracks) recording.tracks.push_back(std::move(track));
    return recording;
  } catch (const json::exception& error) {
    throw UsageError({.message = "this is no trace of lockstep's", .found = error.what()});
  }
}

void write_trace(const std::string& path, const std::string& trace) {
  files::write_atomically(path, path.ends_with(".gz") ? compressed(trace) : trace);
}

}  // namespace lockstep::trace

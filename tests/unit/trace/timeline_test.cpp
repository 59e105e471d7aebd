#include <zlib.h>

#include <set>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/trace/timeline.h>

#include "temporary_folder.h"
#include "trace_processes.h"

namespace lockstep::test {
namespace {

using namespace trace;
using nlohmann::json;

// Two machines: the clock of the second is a second behind.
std::vector<RankTimeline> two_ranks() {
  RankTimeline first{.rank = 0, .host = "a\n\"b\"", .process = 11};
  first.recording.tracks = {
      {.name = "main",
       .events = {{.name = "iteration", .began = 5'000'000'123, .ended = 5'000'002'000, .details = {{"bytes", 7}}}}}};
  RankTimeline second{.rank = 1, .host = "c", .process = 12, .clock = {1'000'000'000, 5'000}};
  second.recording.tracks = {
      {.name = "main", .events = {{.name = "iteration", .began = 4'000'001'123, .ended = 4'000'003'000}}}};
  return {first, second};
}

json by_name(const json& trace, int rank, const std::string& name) {
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("pid") == process_of(trace, rank) && event.at("name") == name) return event;
  }
  return nullptr;
}

TEST(Timeline, IsInTheTraceEventFormatOnOneClock) {
  const json trace = json::parse(chrome_trace(two_ranks(), {{"ranks", 2}}));
  EXPECT_EQ(trace.at("displayTimeUnit"), "ms");
  EXPECT_EQ(trace.at("otherData").at("ranks"), 2);
  for (const json& event : trace.at("traceEvents")) {
    EXPECT_TRUE(event.at("pid").is_number_integer() && event.at("tid").is_number_integer() &&
                event.at("name").is_string());
    if (event.at("ph") == "M") continue;
    EXPECT_EQ(event.at("ph"), "X");
    EXPECT_TRUE(event.at("ts").is_number() && event.at("dur").is_number());
  }
  EXPECT_EQ(by_name(trace, 0, "process_name").at("args").at("name"), "rank 0 on a\\n\"b\"");
  EXPECT_EQ(by_name(trace, 1, "thread_name").at("args").at("name"), "main");
  EXPECT_EQ(by_name(trace, 0, "iteration").at("ts"), 0);
  EXPECT_EQ(by_name(trace, 0, "iteration").at("dur"), 1.877);
  EXPECT_EQ(by_name(trace, 0, "iteration").at("args").at("bytes"), 7);
  EXPECT_EQ(by_name(trace, 1, "iteration").at("ts"), 1.0);  // one microsecond after rank 0's
}

// Perfetto drops events of threads whose numbers it takes for those of others.
TEST(Timeline, TellsEveryThreadApartByItsNumberAlone) {
  std::vector<RankTimeline> timelines = two_ranks();
  timelines[1].process = timelines[0].process;  // on two machines
  timelines.push_back({.rank = 2, .host = "d", .process = 1});
  for (RankTimeline& timeline : timelines) {
    timeline.recording.tracks = {{.name = "main", .events = {}}, {.name = "communication", .events = {}}};
  }
  const json trace = json::parse(chrome_trace(timelines, {}));
  std::set<std::int64_t> numbers = {0};
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("name") != "thread_name") continue;
    EXPECT_TRUE(numbers.insert(event.at("tid").get<std::int64_t>()).second) << event;
    EXPECT_EQ(event.at("tid") == event.at("pid"), event.at("args").at("name") == "main") << event;
  }
  EXPECT_EQ(numbers.size(), 1U + 3 * 2);
  EXPECT_EQ(process_of(trace, 0), 11);
  EXPECT_NE(process_of(trace, 1), 11);
  EXPECT_EQ(process_of(trace, 2), 1);
}

TEST(Timeline, OfNothingIsATraceToo) {
  EXPECT_TRUE(json::parse(chrome_trace({RankTimeline{}}, json::object())).at("traceEvents").is_array());
}

TEST(Timeline, TravelsAsText) {
  const RankTimeline sent = two_ranks()[1], come = unpack(pack(sent));
  EXPECT_EQ(pack(come), pack(sent));
  EXPECT_EQ(come.clock.uncertainty, 5'000);
  EXPECT_THROW(unpack("{\"rank\": 1}"), RuntimeError);
  EXPECT_THROW(unpack(pack(sent).substr(0, 30)), RuntimeError);
}

TEST(Timeline, IsReadBackFromATrace) {
  const Recording recording = read_chrome_trace(chrome_trace(two_ranks(), {}), 0);
  ASSERT_EQ(recording.tracks.size(), 1U);
  EXPECT_EQ(recording.tracks[0].name, "main");
  ASSERT_EQ(recording.tracks[0].events.size(), 1U);
  const Event& event = recording.tracks[0].events[0];
  EXPECT_EQ(event.ended - event.began, 1'877);
  EXPECT_EQ(event.details.at(0).second, 7);
  EXPECT_THROW(read_chrome_trace("{}", 0), UsageError);
  EXPECT_THROW(read_chrome_trace(chrome_trace(two_ranks(), {}), 2), UsageError);
}

TEST(Timeline, IsCompressedWhereItsNameSaysSo) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "trace.json.gz", text = chrome_trace(two_ranks(), {});
  write_trace(path, text);
  gzFile file = ::gzopen(path.c_str(), "rb");
  std::string found(text.size() + 1, '\0');
  found.resize(static_cast<std::size_t>(::gzread(file, found.data(), static_cast<unsigned>(found.size()))));
  ::gzclose(file);
  EXPECT_EQ(found, text);
  EXPECT_LT(std::filesystem::file_size(path), text.size());
}

TEST(Window, IsFromOneNumberOfStepsToAnother) {
  EXPECT_EQ(parse_window("steps=10:15").first, 10);
  EXPECT_EQ(parse_window("steps=10:15").end, 15);
  EXPECT_EQ(parse_window("0:1").end, 1);
  for (const char* text : {"", "steps=", "5", "5:5", "7:5", "-1:5", "a:b", "5:6:7", "steps=5:6 ", "stops=5:6"}) {
    EXPECT_THROW(parse_window(text), UsageError) << text;
  }
  EXPECT_THROW(parse_window("0:100000"), UsageError);
}

}  // namespace
}  // namespace lockstep::test

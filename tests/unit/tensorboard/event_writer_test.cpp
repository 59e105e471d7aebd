#include "tensorboard/event_writer.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

#include "command.h"
#include "temporary_folder.h"
#include "tensorboard/event_reader.h"
#include "throws_with.h"

namespace lockstep::tensorboard {
namespace {

using ::testing::MatchesRegex;

constexpr std::chrono::seconds kLimit(30);

std::string event_of(int step) {
  proto::Event event;
  event.set_step(step);
  return event.SerializeAsString();
}

std::vector<std::int64_t> steps_in(const std::filesystem::path& file) {
  std::vector<std::int64_t> steps;
  for (const proto::Event& event : read_events(file).events) {
    if (event.what_case() != proto::Event::kFileVersion) steps.push_back(event.step());
  }
  return steps;
}

TEST(EventWriter, BeginsWithTheVersionThatReadersWant) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path() / "runs/new", {});
  EXPECT_THAT(writer.file().filename().string(),
              MatchesRegex("events\\.out\\.tfevents\\.[0-9]{10}\\..+\\.[0-9]+\\.[0-9]+"));
  const EventFileContent content = read_events(writer.file());
  ASSERT_EQ(content.events.size(), 1U);
  EXPECT_EQ(content.events[0].file_version(), "brain.Event:2");
  EXPECT_GT(content.events[0].wall_time(), 1.6e9);
}

TEST(EventWriter, KeepsTheOrder_AndAfterFlushAllIsThere) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {.max_queue = 7});
  std::vector<std::int64_t> expected;
  for (int step = 0; step < 1000; ++step) {
    writer.add(event_of(step));
    expected.push_back(step);
  }
  writer.flush();
  EXPECT_EQ(steps_in(writer.file()), expected);
  EXPECT_EQ(writer.take_problem(), "");
}

TEST(EventWriter, WritesWhenTheQueueIsFull_AndWhenTheIntervalIsOver) {
  const test::TemporaryFolder folder;
  EventWriter patient(folder.path(), {.max_queue = 3, .flush_interval = std::chrono::hours(1)});
  patient.add(event_of(1));
  patient.add(event_of(2));
  EXPECT_EQ(steps_in(patient.file()), std::vector<std::int64_t>());
  patient.add(event_of(3));
  EXPECT_TRUE(test::eventually([&] { return steps_in(patient.file()).size() == 3; }, kLimit));

  EventWriter hasty(folder.path(), {.max_queue = 1000, .flush_interval = std::chrono::milliseconds(1)});
  hasty.add(event_of(1));
  EXPECT_TRUE(test::eventually([&] { return steps_in(hasty.file()).size() == 1; }, kLimit));
}

TEST(EventWriter, CloseWritesTheRest_AndLaterEventsGoNowhere) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {});
  writer.add(event_of(1));
  writer.close();
  writer.close();
  writer.add(event_of(2));
  writer.flush();
  EXPECT_EQ(steps_in(writer.file()), std::vector<std::int64_t>{1});
}

TEST(EventWriter, TakesEventsOfManyThreads) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < 250; ++step) writer.add(event_of(step));
    });
  }
  for (std::thread& thread : threads) thread.join();
  writer.close();
  EXPECT_EQ(steps_in(writer.file()).size(), 1000U);
}

TEST(EventWriter, InAFolderThatCannotBe_SaysSo) {
  const test::TemporaryFolder folder;
  const auto file = folder.write("file", "");
  EXPECT_THAT(([&] { EventWriter(file / "run", {}); }), test::ThrowsWith<UsageError>("cannot make the folder"));
}

TEST(ReadEvents, OfAFileCutInTheMiddle_GivesWhatIsWhole) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path(), {});
  for (int step = 0; step < 5; ++step) writer.add(event_of(step));
  writer.close();
  std::string bytes = files::read(writer.file());
  bytes.resize(bytes.size() - 3);
  const EventFileContent content = parse_events(std::as_bytes(std::span(bytes)));
  EXPECT_EQ(content.events.size(), 1U + 4U);
  EXPECT_EQ(content.problem, "it ends within a record");
  EXPECT_LT(content.whole_bytes, bytes.size());
}

}  // namespace
}  // namespace lockstep::tensorboard

// A process that writes events is killed at random moments, and all that was whole can be read.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "event.pb.h"
#include "full_set.h"
#include "temporary_folder.h"
#include "tensorboard/event_reader.h"
#include "tensorboard/event_writer.h"

namespace lockstep::tensorboard {
namespace {

// Records of very different lengths, up to 100 kB, all of which say what they must hold.
std::string event_of(std::int64_t step) {
  proto::Event event;
  event.set_step(step);
  event.mutable_summary()->add_value()->set_tag(
      std::string(static_cast<std::size_t>(step * 7919 % 100'000), static_cast<char>('a' + step % 26)));
  return event.SerializeAsString();
}

// Tells through `pipe` of each event that a flush has made safe.
[[noreturn]] void write_for_ever(const std::filesystem::path& folder, int pipe) {
  try {
    EventWriter writer(folder, {.max_queue = 4});
    for (std::int64_t step = 1;; ++step) {
      writer.add(event_of(step));
      if (step % 200 != 0) continue;
      writer.flush();
      if (::write(pipe, &step, sizeof(step)) != sizeof(step)) break;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
  ::_exit(1);
}

std::int64_t last_told(int pipe) {
  std::int64_t step = 0, told = 0;
  while (::read(pipe, &step, sizeof(step)) == sizeof(step)) told = step;
  return told;
}

TEST(KilledEventWriter, EveryCompleteRecordIsReadable) {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const int kills = test::full_set() ? 200 : 20;
  int cut = 0, empty = 0;
  std::size_t events = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const test::TemporaryFolder folder;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_for_ever(folder.path(), ends[1]);
    ::close(ends[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(0, 60'000)(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
    const std::int64_t told = last_told(ends[0]);
    ::close(ends[0]);

    const auto files = std::filesystem::directory_iterator(folder.path());
    if (begin(files) == end(files)) {
      ASSERT_EQ(told, 0);
      continue;
    }
    const std::filesystem::path file = files->path();
    const EventFileContent content = read_events(file);
    cut += content.problem.empty() ? 0 : 1;
    // Only the end may be missing; damage in front of it would be another problem.
    ASSERT_THAT(content.problem, ::testing::AnyOf("", "it ends within a record", "it ends within a record's length"));
    for (std::size_t i = 1; i < content.events.size(); ++i) {
      ASSERT_EQ(content.events[i].SerializeAsString(), event_of(static_cast<std::int64_t>(i)));
    }
    // The version comes first, and not even that is there when the kill came between making the file and writing it.
    const std::int64_t promised = told == 0 ? 0 : told + 1;
    ASSERT_GE(static_cast<std::int64_t>(content.events.size()), promised);
    empty += content.events.empty() ? 1 : 0;
    events += content.events.size();
  }
  std::cout << kills << " kills, " << cut << " in the middle of a record, " << empty << " before the first, " << events
            << " events read\n";
  EXPECT_GT(events, static_cast<std::size_t>(kills));
}

}  // namespace
}  // namespace lockstep::tensorboard

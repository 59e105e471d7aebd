// A thread that writes events into a file, so that training does not wait for disks.
#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep::tensorboard {

struct EventWriterOptions {
  int max_queue = 10;
  std::chrono::milliseconds flush_interval = std::chrono::minutes(2);
  std::chrono::milliseconds timeout = std::chrono::minutes(1);
  std::string suffix = {};
};

// Events wait in a queue until there are `max_queue` of them, the oldest is `flush_interval` old, or somebody flushes;
// then they are written together. Events that cannot be written are lost; the log says so once when it begins and, with
// their number, once when it ends. All calls may come from any thread.
class EventWriter {
 public:
  // Makes the file, as EventFile does.
  EventWriter(const std::filesystem::path& folder, const EventWriterOptions& options);
  // Closes.
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  const std::filesystem::path& file() const;

  // Blocks only while the queue is full of events that are being written, for `timeout` at most; then it is lost.
  void add(std::string_view event);

  // Waits until all that was added before is written and on the disk, for `timeout` at most.
  void flush();

  // Flushes, and ends the thread. What is added later is lost. A thread that a disk does not let go is left behind.
  void close();

  // Why events were lost since the last call; empty when none was.
  std::string take_problem();

 private:
  struct State;
  std::shared_ptr<State> state_;  // also the thread's, which may outlive this
};

}  // namespace lockstep::tensorboard

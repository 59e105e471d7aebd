#include <lockstep/trace/recorder.h>

#include <pthread.h>

#include <memory>
#include <mutex>
#include <thread>

#include <lockstep/base/errors.h>

namespace lockstep::trace {
namespace {

struct Entry {
  const char* name;
  Clock::time_point began, ended;
  Details details;
};

// Written by one thread; whoever stops the recording reads as far as `used`.
struct Buffer {
  explicit Buffer(std::string its_name, std::size_t room) : name(std::move(its_name)), entries(room) {}

  void add(const Entry& entry) {
    const std::size_t place = used.load(std::memory_order_relaxed);
    if (place == entries.size()) {
      lost.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    entries[place] = entry;
    used.store(place + 1, std::memory_order_release);
  }

  const std::string name;
  std::vector<Entry> entries;
  std::atomic<std::size_t> used = 0;
  std::atomic<std::int64_t> lost = 0;
};

// What is being recorded.
struct Session {
  explicit Session(RecorderOptions its_options)
      : options(std::move(its_options)), communication("communication", options.events_of_thread) {}

  const RecorderOptions options;
  const std::thread::id main = std::this_thread::get_id();
  const Clock::time_point began = Clock::now();
  std::mutex mutex;  // of all below
  std::vector<std::unique_ptr<Buffer>> buffers;
  Buffer communication;
  std::int64_t lost = 0;  // of threads without a buffer
};

std::mutex session_mutex;
std::shared_ptr<Session> session;             // null: none
std::atomic<std::uint64_t> session_number{};  // changes with it

std::shared_ptr<Session> current_session() {
  const std::lock_guard lock(session_mutex);
  return session;
}

// The session as this thread knows it, and its buffer there.
struct OfThread {
  std::uint64_t number = 0;
  std::weak_ptr<Session> session;
  Buffer* buffer = nullptr;  // null: there were too many threads
};

std::string thread_name(const Session& of) {
  if (std::this_thread::get_id() == of.main) return "main";
  std::array<char, 16> name{};
  if (::pthread_getname_np(::pthread_self(), name.data(), name.size()) != 0 || name[0] == '\0') return "thread";
  return name.data();
}

OfThread& of_this_thread() {
  thread_local OfThread own;
  const std::uint64_t number = session_number.load(std::memory_order_acquire);
  if (own.number == number) return own;
  const auto present = current_session();
  own = {.number = number, .session = present, .buffer = nullptr};
  if (!present) return own;
  const std::lock_guard lock(present->mutex);
  if (present->buffers.size() == present->options.threads) return own;
  const std::size_t room = present->options.events_of_thread;
  own.buffer = present->buffers.emplace_back(std::make_unique<Buffer>(thread_name(*present), room)).get();
  return own;
}

Track track_of(const Buffer& buffer) {
  Track track{.name = buffer.name, .events = {}};
  const std::size_t used = buffer.used.load(std::memory_order_acquire);
  track.events.reserve(used);
  for (std::size_t i = 0; i < used; ++i) {
    const Entry& entry = buffer.entries[i];
    Event event{.name = entry.name,
                .began = entry.began.time_since_epoch().count(),
                .ended = entry.ended.time_since_epoch().count(),
                .details = {}};
    for (const Detail& detail : entry.details) {
      if (detail.name != nullptr) event.details.emplace_back(detail.name, detail.value);
    }
    track.events.push_back(std::move(event));
  }
  return track;
}

}  // namespace

namespace internal {

std::atomic<bool> recording = false;

Clock::time_point settled_now() {
  const auto present = of_this_thread().session.lock();
  if (present && present->options.settle) present->options.settle();
  return Clock::now();
}

void add(const char* name, Clock::time_point began, const Details& details) {
  const auto ended = settled_now();
  const OfThread& own = of_this_thread();
  const auto present = own.session.lock();  // keeps the buffer, too
  if (!present || began < present->began) return;
  if (own.buffer != nullptr) {
    own.buffer->add({name, began, ended, details});
    return;
  }
  const std::lock_guard lock(present->mutex);
  ++present->lost;
}

}  // namespace internal

void add_communication(const char* name, Clock::time_point began, Clock::time_point ended, const Details& details) {
  if (!on()) return;
  const auto present = of_this_thread().session.lock();
  if (!present || began < present->began) return;
  const std::lock_guard lock(present->mutex);
  present->communication.add({name, began, ended, details});
}

void start_recording(const RecorderOptions& options) {
  const std::lock_guard lock(session_mutex);
  if (session) {
    throw UsageError({.message = "this process is being recorded already",
                      .next = "end the first recording by stop_recording() before the next begins"});
  }
  session = std::make_shared<Session>(options);
  session_number.fetch_add(1, std::memory_order_release);
  internal::recording.store(true, std::memory_order_relaxed);
}

Recording stop_recording() {
  std::shared_ptr<Session> ended;
  {
    const std::lock_guard lock(session_mutex);
    internal::recording.store(false, std::memory_order_relaxed);
    ended = std::move(session);
    session = nullptr;
    session_number.fetch_add(1, std::memory_order_release);
  }
  Recording recording;
  if (!ended) return recording;
  const std::lock_guard lock(ended->mutex);
  recording.lost = ended->lost + ended->communication.lost;
  for (const auto& buffer : ended->buffers) {
    recording.lost += buffer->lost;
    if (buffer->used > 0) recording.tracks.push_back(track_of(*buffer));
  }
  if (ended->communication.used > 0) recording.tracks.push_back(track_of(ended->communication));
  return recording;
}

}  // namespace lockstep::trace

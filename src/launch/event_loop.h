#pragma once
#include <sys/epoll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>

#include <lockstep/base/fd.h>

namespace lockstep::launch {

using Clock = std::chrono::steady_clock;

// Waits for many descriptors at once and calls back for those that are ready, in the order in which they became so:
// that order tells which of two processes died first.
class EventLoop {
 public:
  using Callback = std::function<void()>;

  EventLoop();

  // Calls `ready` whenever one of `events` holds for `fd`, until `unwatch`. Watching a descriptor again replaces what
  // was asked before. Both may be called from a callback.
  void watch(int fd, Callback ready, std::uint32_t events = EPOLLIN);
  void unwatch(int fd);

  // Waits until something is ready or the time has come, and calls back once for each that is.
  void turn(Clock::time_point deadline);

 private:
  UniqueFd epoll_;
  std::map<int, Callback> callbacks_;
};

}  // namespace lockstep::launch

#include "event_loop.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <lockstep/base/errors.h>

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

// Short of INT_MAX milliseconds, and none waits in vain for an hour.
int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::clamp<Clock::duration>(deadline - Clock::now(), 0s, 1h);
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
}

}  // namespace

EventLoop::EventLoop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) throw system_error("cannot wait for events", errno);
}

void EventLoop::watch(int fd, Callback ready, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.fd = fd}};
  const int action = callbacks_.contains(fd) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(epoll_.get(), action, fd, &event) != 0) throw system_error("cannot watch a descriptor", errno);
  callbacks_[fd] = std::move(ready);
}

void EventLoop::unwatch(int fd) {
  if (callbacks_.erase(fd) != 0) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::turn(Clock::time_point deadline) {
  std::array<epoll_event, 64> events{};
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), milliseconds_until(deadline));
  if (count < 0 && errno != EINTR) throw system_error("cannot wait for events", errno);
  for (int i = 0; i < count; ++i) {
    // An earlier callback may have ended the watch; and this one may end its own, so it is called as a copy.
    const auto found = callbacks_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found == callbacks_.end()) continue;
    const Callback ready = found->second;
    ready();
  }
}

}  // namespace lockstep::launch

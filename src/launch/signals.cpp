#include "signals.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <cerrno>

#include <lockstep/base/errors.h>

namespace lockstep::launch {

SignalReader::SignalReader(std::initializer_list<int> signals) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : signals) sigaddset(&wanted, number);
  if (::sigprocmask(SIG_BLOCK, &wanted, &previous_) != 0) throw system_error("cannot block signals", errno);
  fd_ = UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) throw system_error("cannot read signals", errno);
}

SignalReader::~SignalReader() {
  ::sigprocmask(SIG_SETMASK, &previous_, nullptr);
}

std::optional<int> SignalReader::next(std::chrono::milliseconds timeout) {
  pollfd wait{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&wait, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace lockstep::launch

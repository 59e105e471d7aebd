#include "turn_taker.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <csignal>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/text.h>
#include <lockstep/launch/pipe.h>

namespace lockstep::bench {
namespace {

using Clock = std::chrono::steady_clock;

// In memory and never full, so that the program is not held up by what nobody reads.
UniqueFd memory_file() {
  UniqueFd fd(::memfd_create("lockstep-errors", MFD_CLOEXEC));
  if (!fd) throw system_error("cannot make a file in memory", errno);
  return fd;
}

// The last line that says something.
std::string last_line(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return "";
  std::array<char, 4096> buffer{};
  const off_t begin = std::max<off_t>(0, status.st_size - static_cast<off_t>(buffer.size()));
  const ssize_t count = ::pread(file, buffer.data(), buffer.size(), begin);
  std::string text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return escape_controls(text.substr(text.rfind('\n') + 1));
}

}  // namespace

TurnTaker::TurnTaker(std::vector<std::string> command, std::map<std::string, std::string> environment)
    : errors_(memory_file()) {
  // A program that has ended shows in its answers; the write that comes too late need not end this one.
  ::signal(SIGPIPE, SIG_IGN);
  launch::Pipe requests = launch::make_pipe(), answers = launch::make_pipe();
  command.insert(command.begin(), "env");  // looks it up
  child_ = std::make_unique<launch::Child>(launch::ChildOptions{.program = "/usr/bin/env",
                                                                .command = std::move(command),
                                                                .environment = std::move(environment),
                                                                .inherited = {},
                                                                .affinity = AffinityMask::current(),
                                                                .in = requests.read_end.get(),
                                                                .out = answers.write_end.get(),
                                                                .err = errors_.get()});
  requests_ = std::move(requests.write_end);
  answers_ = std::move(answers.read_end);
}

// It may clean up behind itself when its requests end, but not for long.
TurnTaker::~TurnTaker() {
  requests_.reset();
  constexpr auto kPatience = std::chrono::seconds(5);
  pollfd end{.fd = child_->end_fd(), .events = POLLIN, .revents = 0};
  if (end.fd >= 0) ::poll(&end, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count()));
}

void TurnTaker::fail(const std::string& message) const {
  child_->signal(SIGKILL);
  throw RuntimeError({.message = message, .found = last_line(errors_.get())});
}

std::string TurnTaker::read_line(Clock::time_point deadline) {
  std::array<char, 4096> buffer{};
  for (;;) {
    if (const auto end = read_.find('\n'); end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    if (read_.size() > kMostOfALine) fail("the other program writes without an end");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waited{.fd = answers_.get(), .events = POLLIN, .revents = 0};
    if (left.count() <= 0) fail("the other program does not answer in time");
    if (::poll(&waited, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1 << 30))) <= 0) continue;
    const ssize_t count = ::read(answers_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("the other program ended before its turn");
    read_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

Ready TurnTaker::wait_until_ready(std::chrono::seconds time) {
  return parse_ready(read_line(Clock::now() + time));
}

Turn TurnTaker::take(std::chrono::duration<double> length) {
  if (files::write_all(requests_.get(), fmt::format("{}\n", length.count())) != 0) {
    fail("the other program ended before its turn");
  }
  // A step may be longer than the turn, and another process may have the cores.
  constexpr auto kPatience = std::chrono::minutes(3);
  constexpr int kTimes = 10;
  const auto time = std::chrono::duration_cast<Clock::duration>(length * kTimes) + kPatience;
  return parse_turn(read_line(Clock::now() + time));
}

}  // namespace lockstep::bench

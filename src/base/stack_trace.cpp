#include "stack_trace.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <semaphore.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <span>

#include <fmt/format.h>

#include <lockstep/base/text.h>

namespace lockstep {
namespace {

constexpr int kMostFrames = 64;

std::string describe(void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0) return fmt::format("{}", address);
  if (info.dli_sname != nullptr) return escape_controls(demangle(info.dli_sname));
  const auto offset = static_cast<char*>(address) - static_cast<char*>(info.dli_fbase);
  return escape_controls(fmt::format("{}+{:#x}", info.dli_fname, offset));
}

std::vector<std::string> describe(std::span<void* const> frames) {
  std::vector<std::string> names;
  for (void* frame : frames) names.push_back(describe(frame));
  return names;
}

// What the interrupted thread fills in.
struct Sample {
  std::array<void*, kMostFrames> frames{};
  int count = 0;
  sem_t taken{};
};
Sample& sample() {
  static Sample only;
  return only;
}

void take_sample(int) {
  const int error = errno;
  sample().count = ::backtrace(sample().frames.data(), kMostFrames);
  ::sem_post(&sample().taken);
  errno = error;
}

// A signal that programs do not use: SIGRTMIN and its neighbours are the first that libraries take.
int sample_signal() {
  return SIGRTMAX - 3;
}

bool prepare_signal() {
  void* frame = nullptr;
  ::backtrace(&frame, 1);  // loads what it needs now, not in the handler
  ::sem_init(&sample().taken, 0, 0);
  struct sigaction before {};
  if (::sigaction(sample_signal(), nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return false;
  struct sigaction action {};
  action.sa_handler = take_sample;
  action.sa_flags = SA_RESTART;
  return ::sigaction(sample_signal(), &action, nullptr) == 0;
}

bool wait_for_sample() {
  timespec deadline{};
  ::clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 1;
  int result = 0;
  while ((result = ::sem_timedwait(&sample().taken, &deadline)) != 0 && errno == EINTR) {
  }
  return result == 0;
}

}  // namespace

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z")) return name;  // else "f" would be taken for the type float
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                          &std::free);
  return status == 0 ? plain.get() : name;
}

std::vector<std::string> stack_trace() {
  std::array<void*, kMostFrames> frames{};
  const int count = ::backtrace(frames.data(), kMostFrames);
  return describe(std::span(frames).subspan(1, static_cast<std::size_t>(std::max(count - 1, 0))));
}

std::vector<std::string> stack_trace_of(pthread_t thread) {
  if (::pthread_equal(thread, ::pthread_self()) != 0) return stack_trace();
  static std::mutex turn;
  const std::lock_guard lock(turn);
  static const bool prepared = prepare_signal();
  static bool answered = true;  // once a thread was too slow, its late answer could be taken for another's
  if (!prepared || !answered || ::pthread_kill(thread, sample_signal()) != 0) return {};
  answered = wait_for_sample();
  if (!answered) return {};
  constexpr std::size_t kHandler = 2;  // the handler itself, and the kernel's way into it
  const auto count = static_cast<std::size_t>(sample().count);
  return count <= kHandler ? std::vector<std::string>{}
                           : describe(std::span(sample().frames).subspan(kHandler, count - kHandler));
}

}  // namespace lockstep

#include "base/stack_trace.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Exported by the C library, so its name is known in every build.
TEST(StackTrace, OfAnotherThreadTellsWhereItIs) {
  std::atomic<bool> over = false;
  std::thread sleeper([&] {
    while (!over) ::usleep(100'000);
  });
  const auto sleeps = [](const std::vector<std::string>& frames) {
    return std::any_of(frames.begin(), frames.end(),
                       [](const auto& frame) { return frame.find("sleep") != frame.npos; });
  };
  std::vector<std::string> trace;
  for (int attempt = 0; attempt < 50 && !sleeps(trace); ++attempt) trace = stack_trace_of(sleeper.native_handle());
  over = true;
  sleeper.join();
  EXPECT_THAT(trace, Contains(HasSubstr("sleep")));
}

TEST(StackTrace, OfAThreadThatDoesNotAnswerIsEmpty) {
  std::atomic<bool> deaf = false, over = false;
  std::thread thread([&] {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    deaf = true;
    while (!over) ::usleep(1000);
  });
  while (!deaf) ::usleep(1000);
  EXPECT_THAT(stack_trace_of(thread.native_handle()), IsEmpty());
  over = true;
  thread.join();
}

TEST(StackTrace, NamesAreReadable) {
  EXPECT_EQ(demangle("_ZN8lockstep8demangleERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE").substr(0, 18),
            "lockstep::demangle");
  EXPECT_EQ(demangle("main"), "main");
}

}  // namespace
}  // namespace lockstep

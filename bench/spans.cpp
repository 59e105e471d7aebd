// What a span of a timeline costs, switched off and on.
#include <cstdio>

#include <lockstep/trace/recorder.h>

namespace {

using lockstep::trace::Clock;

double nanoseconds_of_a_span(int spans) {
  const auto began = Clock::now();
  for (int i = 0; i < spans; ++i) {
    const lockstep::trace::Span span("work");
    asm volatile("" ::: "memory");  // each is made and ended
  }
  return std::chrono::duration<double, std::nano>(Clock::now() - began).count() / spans;
}

}  // namespace

int main() {
  constexpr int kMany = 100'000'000, kRoom = 1'000'000;
  std::printf("off: %.2f ns\n", nanoseconds_of_a_span(kMany));
  lockstep::trace::start_recording({.events_of_thread = kRoom});
  nanoseconds_of_a_span(1);  // takes the memory
  std::printf("on:  %.0f ns\n", nanoseconds_of_a_span(kRoom - 1));
  lockstep::trace::stop_recording();
}

#include "progress.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <climits>
#include <ctime>

namespace lockstep::comm::local {
namespace {

constexpr timespec kLongestSleep = {.tv_sec = 0, .tv_nsec = 50'000'000};
constexpr int kPausesPerLookAtClock = 16;

// A futex has 32 bits: the lower half of the count, which comes first in memory.
static_assert(std::endian::native == std::endian::little);

void sleep_while(std::atomic<std::int64_t>& count, std::int64_t value) {
  ::syscall(SYS_futex, &count, FUTEX_WAIT, static_cast<std::uint32_t>(value), &kLongestSleep, nullptr, 0);
}

void wake_all(std::atomic<std::int64_t>& count) {
  ::syscall(SYS_futex, &count, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void Progress::advance(std::int64_t to) {
  // Both this pair and the one in sleep_unless_reached are sequentially consistent: either the sleeper sees the new
  // count, or it is seen here.
  value_.store(to, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) wake_all(value_);
}

std::int64_t Progress::wait_for(std::int64_t target, std::chrono::nanoseconds spin, const Patience& patience) {
  using Clock = std::chrono::steady_clock;
  const auto end_of_spin = Clock::now() + spin;
  do {
    for (int i = 0; i < kPausesPerLookAtClock; ++i) {
      const std::int64_t value = now();
      if (value >= target) return value;
      _mm_pause();
    }
  } while (Clock::now() < end_of_spin);
  for (;;) {
    sleep_unless_reached(target);
    const std::int64_t value = now();
    if (value >= target) return value;
    patience.check();
  }
}

void Progress::sleep_unless_reached(std::int64_t target) {
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  const std::int64_t value = value_.load(std::memory_order_seq_cst);
  if (value < target) sleep_while(value_, value);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace lockstep::comm::local

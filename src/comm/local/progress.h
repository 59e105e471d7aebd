#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "../engine.h"

namespace lockstep::comm::local {

// A count in shared memory that one rank moves forward and others wait for. Memory that is all zeros is a Progress at
// 0. What the owner wrote before advance() is visible to a rank that has seen the new count.
//
// On cache lines of its own: two, because CPUs fetch them in pairs.
class alignas(128) Progress {
 public:
  std::int64_t now() const { return value_.load(std::memory_order_acquire); }

  // By the owner only. A system call is made only when somebody sleeps.
  void advance(std::int64_t to);

  // Waits until the count has reached `target` and returns it: spins for `spin`, then sleeps, and asks `patience` after
  // each sleep of at most 50 ms.
  std::int64_t wait_for(std::int64_t target, std::chrono::nanoseconds spin, const Patience& patience);

 private:
  void sleep_unless_reached(std::int64_t target);

  std::atomic<std::int64_t> value_;
  std::atomic<std::uint32_t> sleepers_;
};

static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace lockstep::comm::local

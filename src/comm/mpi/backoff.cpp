#include "backoff.h"

#include <immintrin.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include <lockstep/base/placement.h>

namespace lockstep::comm::mpi {
namespace {

using namespace std::chrono_literals;

constexpr auto kSpin = 1ms;
constexpr auto kYield = 3ms;
constexpr auto kShortestNap = 50us;
constexpr auto kLongestNap = 1ms;

// Who spins on a core that another rank needs only delays what it waits for.
bool more_ranks_than_cores() {
  return discover_placement().local_size.value_or(1) > ::sysconf(_SC_NPROCESSORS_ONLN);
}

}  // namespace

void Backoff::rest(const Patience& patience) {
  static const bool crowded = more_ranks_than_cores();
  const auto waited = Clock::now() - start_;
  if (waited < kSpin && !crowded) {
    _mm_pause();
    return;
  }
  patience.check();
  if (waited < kYield) {
    std::this_thread::yield();
  } else {
    // A nap is short beside the wait so far.
    std::this_thread::sleep_for(std::clamp<Clock::duration>(waited / 32, kShortestNap, kLongestNap));
  }
}

}  // namespace lockstep::comm::mpi

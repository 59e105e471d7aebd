#include "backoff.h"

#include <immintrin.h>

#include <algorithm>
#include <thread>

namespace lockstep::comm::mpi {
namespace {

using namespace std::chrono_literals;

constexpr auto kSpin = 20us;
constexpr auto kYield = 2ms;
constexpr auto kShortestNap = 50us;
constexpr auto kLongestNap = 1ms;

}  // namespace

void Backoff::rest(const Patience& patience) {
  const auto waited = Clock::now() - start_;
  if (waited < kSpin) {
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

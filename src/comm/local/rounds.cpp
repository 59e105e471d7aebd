#include "rounds.h"

#include <cstring>
#include <utility>

#include "stream_copy.h"

namespace lockstep::comm::local {
namespace {

using std::chrono::nanoseconds;

// After 512 MiB of each rank; to try both ways takes one to three hundredths of the time that those take.
constexpr std::int64_t kRoundsBetweenTries = 4096;
constexpr int kFirstTrials = 8;  // of which some find caches and page tables without this memory
constexpr int kLaterTrials = 3;
constexpr std::int64_t kTrialRounds = 8;

// Below this, memory's latency weighs more than the way there.
constexpr std::size_t kLeastPastCaches = 2048;

// Sleeping and waking takes some 10 microseconds, so a rank that has a core to itself waits a few times that long
// before it sleeps. Where ranks share cores, the one that is waited for may need just this core.
nanoseconds spin_time(const Segment& segment) {
  return segment.usable_cores() >= segment.ranks() ? std::chrono::microseconds(50) : nanoseconds(0);
}

}  // namespace

Rounds::Rounds(std::shared_ptr<Segment> segment, int rank)
    : segment_(std::move(segment)),
      rank_(rank),
      spin_(spin_time(*segment_)),
      others_shown_(static_cast<std::size_t>(size())),
      others_read_(static_cast<std::size_t>(size())) {}

std::byte* Rounds::own_slot(const Patience& patience) {
  const std::int64_t needed = shown_ + 1 - kSlots;
  for (int other = 0; other < size(); ++other) {
    auto& seen = others_read_[static_cast<std::size_t>(other)];
    if (other != rank_ && seen < needed) seen = segment_->read(other).wait_for(needed, spin_, patience);
  }
  return segment_->slot(rank_, shown_);
}

void Rounds::put(std::byte* into_slot, const std::byte* from, std::size_t bytes) const {
  if (past_caches_ && bytes >= kLeastPastCaches) {
    stream_copy(into_slot, from, bytes);
  } else if (bytes != 0) {
    std::memcpy(into_slot, from, bytes);
  }
}

const std::byte* Rounds::slot_of(int source, const Patience& patience) {
  const std::int64_t needed = read_ + 1;
  auto& seen = others_shown_[static_cast<std::size_t>(source)];
  if (seen < needed) seen = segment_->shown(source).wait_for(needed, spin_, patience);
  return segment_->slot(source, read_);
}

// At first, and then as large operations add up: many small ones should not pay for it.
bool Rounds::is_time_to_try(std::int64_t rounds) {
  if (size() == 1 || rounds == 0) return false;
  if (rounds > 1) rounds_to_next_try_ -= rounds;
  if (rounds_to_next_try_ > 0) return false;
  rounds_to_next_try_ = kRoundsBetweenTries;
  return true;
}

// The ranks add up their times, so that all of them come to the same decision.
void Rounds::try_both_ways(const Patience& patience) {
  struct Times {
    nanoseconds through_caches = nanoseconds::max();
    nanoseconds past_caches = nanoseconds::max();
  };
  Times own;
  const int trials = shown_ == 0 ? kFirstTrials : kLaterTrials;
  for (int trial = 0; trial < trials; ++trial) {
    past_caches_ = false;
    own.through_caches = std::min(own.through_caches, time_this_way(patience));
    past_caches_ = true;
    own.past_caches = std::min(own.past_caches, time_this_way(patience));
  }
  Times sum = own;
  run_in_this_way(
      1, 0, [&](std::int64_t) { std::memcpy(own_slot(patience), &own, sizeof(own)); },
      [&](std::int64_t) {
        for (int other = 0; other < size(); ++other) {
          if (other == rank_) continue;
          Times times;
          std::memcpy(&times, slot_of(other, patience), sizeof(times));
          sum.through_caches += times.through_caches;
          sum.past_caches += times.past_caches;
        }
      });
  past_caches_ = sum.past_caches < sum.through_caches;
}

// Shows some rounds, and reads those of the next rank.
nanoseconds Rounds::time_this_way(const Patience& patience) {
  std::vector<std::byte> buffer(kSlotBytes);
  const int neighbour = (rank_ + 1) % size();
  const auto begin = std::chrono::steady_clock::now();
  run_in_this_way(
      kTrialRounds, ahead(kTrialRounds), [&](std::int64_t) { put(own_slot(patience), buffer.data(), buffer.size()); },
      [&](std::int64_t) { std::memcpy(buffer.data(), slot_of(neighbour, patience), buffer.size()); });
  return std::chrono::steady_clock::now() - begin;
}

}  // namespace lockstep::comm::local

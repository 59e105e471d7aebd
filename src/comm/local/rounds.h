#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "../engine.h"
#include "segment.h"

namespace lockstep::comm::local {

// How every collective moves its bytes. An operation is cut into rounds. In a round each rank shows up to kSlotBytes in
// a slot of its own, and reads what it needs from the slots of others. All ranks make the same number of rounds; the
// rounds of one operation follow those of the one before, so nothing has to be set up or cleared between two.
//
// Two things make it fast:
// - A rank reads a round only when it has shown some more. What another core wrote just now is still in that core's own
//   cache, and fetching it from there is several times slower than from the cache that cores share.
// - Where cores share no cache, fetching from another's is slower still, and what is shown goes past the caches into
//   memory. Nobody knows where the cores of a virtual machine really are, so both ways are tried from time to time.
class Rounds {
 public:
  Rounds(std::shared_ptr<Segment> segment, int rank);

  int rank() const { return rank_; }
  int size() const { return segment_->ranks(); }

  // How many rounds a rank shows before it reads the first, in an operation of that many.
  static std::int64_t ahead(std::int64_t rounds) { return std::clamp(rounds - 1, std::int64_t{0}, kMostAhead); }

  // Calls show(i) and read(i) for each i below `rounds`, each in order, read(i) after show(i + ahead).
  template <typename Show, typename Read>
  void run(std::int64_t rounds, std::int64_t ahead, const Patience& patience, Show&& show, Read&& read) {
    if (is_time_to_try(rounds)) try_both_ways(patience);
    run_in_this_way(rounds, ahead, show, read);
  }

  // Within show(): this rank's slot, once no rank needs what it held before, and a copy into it.
  std::byte* own_slot(const Patience& patience);
  void put(std::byte* into_slot, const std::byte* from, std::size_t bytes) const;

  // Within read(): the slot of another rank, once it has been shown.
  const std::byte* slot_of(int source, const Patience& patience);

 private:
  // Slots of about the size of a core's own cache; the others let ranks drift apart without waiting.
  static constexpr std::int64_t kMostAhead = 7;
  static_assert(kMostAhead < kSlots);

  template <typename Show, typename Read>
  void run_in_this_way(std::int64_t rounds, std::int64_t ahead, Show&& show, Read&& read) {
    for (std::int64_t step = 0; step < rounds + ahead; ++step) {
      if (step < rounds) {
        show(step);
        segment_->shown(rank_).advance(++shown_);
      }
      if (step >= ahead) {
        read(step - ahead);
        segment_->read(rank_).advance(++read_);
      }
    }
  }

  bool is_time_to_try(std::int64_t rounds);
  void try_both_ways(const Patience& patience);
  std::chrono::nanoseconds time_this_way(const Patience& patience);

  std::shared_ptr<Segment> segment_;
  int rank_;
  std::chrono::nanoseconds spin_;
  std::int64_t shown_ = 0;
  std::int64_t read_ = 0;
  // The counts of other ranks as last seen.
  std::vector<std::int64_t> others_shown_;
  std::vector<std::int64_t> others_read_;
  bool past_caches_ = false;
  std::int64_t rounds_to_next_try_ = 0;
};

}  // namespace lockstep::comm::local

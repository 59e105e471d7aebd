#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "progress.h"
#include "ring.h"
#include "shared_memory.h"

namespace lockstep::comm::local {

// What a rank shows to the others passes through its slots in turn.
inline constexpr std::size_t kSlotBytes = 128 * 1024;
inline constexpr std::int64_t kSlots = 16;

// A line of each slot for every rank, and more.
inline constexpr int kMostRanks = 1024;
static_assert(kSlotBytes / kMostRanks >= 64);

// What lies where in the memory that the ranks of a group share.
class Segment {
 public:
  // Makes the memory for a group of that many ranks.
  explicit Segment(int ranks);
  // Maps what another rank has made. Throws RuntimeError when the two cannot share memory.
  Segment(int ranks, const std::string& address);

  int ranks() const { return ranks_; }
  SharedMemory& memory() { return memory_; }

  // How many rounds a rank has shown, and of how many it has read what the others showed.
  Progress& shown(int rank) const;
  Progress& read(int rank) const;
  std::byte* slot(int rank, std::int64_t round) const;

  // The messages from one rank to another.
  Ring& ring(int source, int destination) const;

  // Adds the cores that the calling thread may run on to those of the group.
  void add_usable_cores() const;
  // Those that the ranks have added, together.
  int usable_cores() const;

 private:
  int ranks_;
  SharedMemory memory_;
};

}  // namespace lockstep::comm::local

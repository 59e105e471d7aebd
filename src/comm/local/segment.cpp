#include "segment.h"

#include <sched.h>

#include <array>
#include <bit>

namespace lockstep::comm::local {
namespace {

using Cores = std::array<std::atomic<std::uint64_t>, CPU_SETSIZE / 64>;

struct RankProgress {
  Progress shown;
  Progress read;
};

// One after another: Cores, RankProgress of each rank, the slots of each rank, the rings of each pair.
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kProgressOffset = sizeof(Cores);
static_assert(kProgressOffset % alignof(RankProgress) == 0);

std::size_t slots_offset(std::size_t ranks) {
  const std::size_t end = kProgressOffset + ranks * sizeof(RankProgress);
  return (end + kPageBytes - 1) / kPageBytes * kPageBytes;
}

std::size_t rings_offset(std::size_t ranks) {
  return slots_offset(ranks) + ranks * std::size_t{kSlots} * kSlotBytes;
}

std::size_t total_bytes(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return rings_offset(count) + count * count * sizeof(Ring);
}

// The types that lie in the memory are valid when all zeros, and no rank may construct what another already uses.
template <typename T>
T& object_at(std::byte* place) {
  return *reinterpret_cast<T*>(place);
}

RankProgress& progress(std::byte* base, int rank) {
  return object_at<RankProgress>(base + kProgressOffset + static_cast<std::size_t>(rank) * sizeof(RankProgress));
}

}  // namespace

Segment::Segment(int ranks) : ranks_(ranks), memory_(SharedMemory::make(total_bytes(ranks))) {}

Segment::Segment(int ranks, const std::string& address)
    : ranks_(ranks), memory_(SharedMemory::open(address, total_bytes(ranks))) {}

Progress& Segment::shown(int rank) const {
  return progress(memory_.data(), rank).shown;
}

Progress& Segment::read(int rank) const {
  return progress(memory_.data(), rank).read;
}

std::byte* Segment::slot(int rank, std::int64_t round) const {
  const std::size_t index = static_cast<std::size_t>(rank * kSlots + round % kSlots);
  return memory_.data() + slots_offset(static_cast<std::size_t>(ranks_)) + index * kSlotBytes;
}

Ring& Segment::ring(int source, int destination) const {
  const auto count = static_cast<std::size_t>(ranks_);
  const std::size_t index = static_cast<std::size_t>(source) * count + static_cast<std::size_t>(destination);
  return object_at<Ring>(memory_.data() + rings_offset(count) + index * sizeof(Ring));
}

void Segment::add_usable_cores() const {
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof(mine), &mine) != 0) return;  // a machine with more cores than a cpu_set_t has
  auto& cores = object_at<Cores>(memory_.data());
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mine)) cores[core / 64].fetch_or(std::uint64_t{1} << core % 64);
  }
}

int Segment::usable_cores() const {
  int count = 0;
  for (const auto& word : object_at<Cores>(memory_.data())) count += std::popcount(word.load());
  return count;
}

}  // namespace lockstep::comm::local

#include "reduce.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace lockstep::comm::local {
namespace {

// Slices begin at a multiple of it, for the CPU's sake, and so that no element lies across two.
constexpr std::size_t kLineBytes = 64;

// Up to this size it takes longer to tell one another about parts than to do all the work on every rank.
constexpr std::size_t kWholeBytes = 32 * 1024;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

Block bytes_of(const Elements& elements, const Reduction& reduction) {
  return {static_cast<std::byte*>(elements.data), static_cast<std::size_t>(elements.count) * reduction.element_bytes};
}

// Every rank shows all its elements, and each that wants the result reduces all of them. With two ranks this moves no
// more than reduce_by_slices, and needs half the rounds.
void reduce_whole(Rounds& rounds, Block block, const Reduction& reduction, bool wants_result,
                  const Patience& patience) {
  const auto part = [&](std::int64_t round) {
    const std::size_t begin = static_cast<std::size_t>(round) * kSlotBytes;
    return Block{block.data + begin, std::min(kSlotBytes, block.bytes - begin)};
  };
  const auto show = [&](std::int64_t round) {
    const Block own = part(round);
    rounds.put(rounds.own_slot(patience), own.data, own.bytes);
  };
  std::vector<const std::byte*> sources(static_cast<std::size_t>(rounds.size()));
  const auto read = [&](std::int64_t round) {
    if (!wants_result) return;
    const Block own = part(round);
    for (int rank = 0; rank < rounds.size(); ++rank) {
      sources[static_cast<std::size_t>(rank)] = rank == rounds.rank() ? own.data : rounds.slot_of(rank, patience);
    }
    reduction.kernel(own.data, sources.data(), rounds.size(), own.bytes / reduction.element_bytes);
  };
  const auto count = static_cast<std::int64_t>((block.bytes + kSlotBytes - 1) / kSlotBytes);
  rounds.run(count, Rounds::ahead(count), patience, show, read);
}

// A block for each rank, laid end to end, and cut into slices: in a round, one slice of every block is shown.
class Slices {
 public:
  Slices(Block all, std::size_t block_bytes, int ranks)
      : all_(all),
        block_bytes_(block_bytes),
        slice_bytes_(kSlotBytes / static_cast<std::size_t>(ranks) / kLineBytes * kLineBytes) {}

  std::int64_t count() const { return static_cast<std::int64_t>((block_bytes_ + slice_bytes_ - 1) / slice_bytes_); }

  // Empty past the end.
  Block slice(int rank, std::int64_t number) const {
    const std::size_t in_block = std::min(static_cast<std::size_t>(number) * slice_bytes_, block_bytes_);
    const std::size_t block = static_cast<std::size_t>(rank) * block_bytes_;
    const std::size_t begin = std::min(block + in_block, all_.bytes);
    const std::size_t end = std::min({begin + slice_bytes_, block + block_bytes_, all_.bytes});
    return {all_.data + begin, std::max(begin, end) - begin};
  }
  std::size_t in_slot(int rank) const { return static_cast<std::size_t>(rank) * slice_bytes_; }

 private:
  Block all_;
  std::size_t block_bytes_;
  std::size_t slice_bytes_;
};

enum class Results { kStay, kShown, kShownAndRead };

// Each rank reduces its own block. Its results go to `output`, and where they are shown, they take the place in its
// slot that its own slice would have, which nobody needs, in the first round that comes after they are there.
void reduce_by_slices(Rounds& rounds, const Slices& slices, std::byte* output, Results results,
                      const Reduction& reduction, const Patience& patience) {
  const int self = rounds.rank();
  const std::int64_t ahead = Rounds::ahead(slices.count());
  const std::int64_t delay = ahead + 1;  // from the round of a slice to the round of its result
  const std::int64_t count = slices.count() + (results == Results::kStay ? 0 : delay);

  const auto show = [&](std::int64_t round) {
    std::byte* slot = rounds.own_slot(patience);
    for (int rank = 0; rank < rounds.size(); ++rank) {
      const bool is_result = rank == self;
      if (is_result && (results == Results::kStay || round < delay)) continue;
      const Block slice = slices.slice(rank, is_result ? round - delay : round);
      rounds.put(slot + slices.in_slot(rank), slice.data, slice.bytes);
    }
  };
  std::vector<const std::byte*> sources(static_cast<std::size_t>(rounds.size()));
  const auto reduce_own = [&](const Block& own, std::byte* out) {
    for (int rank = 0; rank < rounds.size(); ++rank) {
      sources[static_cast<std::size_t>(rank)] =
          rank == self ? own.data : rounds.slot_of(rank, patience) + slices.in_slot(self);
    }
    reduction.kernel(out, sources.data(), rounds.size(), own.bytes / reduction.element_bytes);
  };
  const auto read = [&](std::int64_t round) {
    if (const Block own = slices.slice(self, round); own.bytes != 0) {
      reduce_own(own, output + (own.data - slices.slice(self, 0).data));
    }
    if (results != Results::kShownAndRead || round < delay) return;
    for (int i = 1; i < rounds.size(); ++i) {
      const int rank = (self + i) % rounds.size();
      const Block result = slices.slice(rank, round - delay);
      if (result.bytes == 0) continue;
      std::memcpy(result.data, rounds.slot_of(rank, patience) + slices.in_slot(rank), result.bytes);
    }
  };
  rounds.run(count, ahead, patience, show, read);
}

void reduce_for(bool wants_result, Rounds& rounds, Elements elements, const Reduction& reduction,
                const Patience& patience) {
  const Block all = bytes_of(elements, reduction);
  if (rounds.size() == 2 || all.bytes <= kWholeBytes) {
    return reduce_whole(rounds, all, reduction, wants_result, patience);
  }
  const auto ranks = static_cast<std::size_t>(rounds.size());
  const Slices slices(all, round_up((all.bytes + ranks - 1) / ranks, kLineBytes), rounds.size());
  reduce_by_slices(rounds, slices, slices.slice(rounds.rank(), 0).data,
                   wants_result ? Results::kShownAndRead : Results::kShown, reduction, patience);
}

}  // namespace

void all_reduce(Rounds& rounds, Elements elements, const Reduction& reduction, const Patience& patience) {
  reduce_for(/*wants_result=*/true, rounds, elements, reduction, patience);
}

void reduce(Rounds& rounds, Elements elements, const Reduction& reduction, int root, const Patience& patience) {
  reduce_for(rounds.rank() == root, rounds, elements, reduction, patience);
}

void reduce_scatter(Rounds& rounds, Elements input, Elements output, const Reduction& reduction,
                    const Patience& patience) {
  const Slices slices(bytes_of(input, reduction), bytes_of(output, reduction).bytes, rounds.size());
  reduce_by_slices(rounds, slices, static_cast<std::byte*>(output.data), Results::kStay, reduction, patience);
}

}  // namespace lockstep::comm::local

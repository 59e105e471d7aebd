#include "move.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace lockstep::comm::local {
namespace {

// A part of what another rank shows, and where it is to go.
struct Wanted {
  int source;
  std::size_t begin;
  Block into;
};

// The part of [begin, end) that shows in a round.
struct Window {
  std::size_t begin;
  std::size_t end;

  static Window of(std::int64_t round, std::size_t begin, std::size_t end) {
    const std::size_t first = static_cast<std::size_t>(round) * kSlotBytes;
    return {std::clamp(begin, first, first + kSlotBytes), std::clamp(end, first, first + kSlotBytes)};
  }
  std::size_t bytes() const { return end - begin; }
  std::size_t in_slot() const { return begin % kSlotBytes; }
};

std::int64_t rounds_for(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + kSlotBytes - 1) / kSlotBytes);
}

void copy(Block to, ConstBlock from) {
  if (from.bytes != 0 && to.data != from.data) std::memcpy(to.data, from.data, from.bytes);
}

// Every rank shows its blocks end to end, a slot's worth in each round, and picks what it wants from the others.
void move(Rounds& rounds, std::int64_t count, std::span<const ConstBlock> shown, std::span<const Wanted> wanted,
          const Patience& patience) {
  const auto show = [&](std::int64_t round) {
    std::size_t begin = 0;
    for (const ConstBlock& block : shown) {
      const auto window = Window::of(round, begin, begin + block.bytes);
      if (window.bytes() != 0) {
        rounds.put(rounds.own_slot(patience) + window.in_slot(), block.data + (window.begin - begin), window.bytes());
      }
      begin += block.bytes;
    }
  };
  const auto read = [&](std::int64_t round) {
    for (const Wanted& part : wanted) {
      const auto window = Window::of(round, part.begin, part.begin + part.into.bytes);
      if (window.bytes() != 0) {
        std::memcpy(part.into.data + (window.begin - part.begin),
                    rounds.slot_of(part.source, patience) + window.in_slot(), window.bytes());
      }
    }
  };
  rounds.run(count, Rounds::ahead(count), patience, show, read);
}

// Calls `visit` with every other rank, each rank beginning at its neighbour, so that not all of them turn to the same
// one at once.
template <typename Visit>
void for_each_other(const Rounds& rounds, Visit&& visit) {
  for (int i = 1; i < rounds.size(); ++i) visit((rounds.rank() + i) % rounds.size());
}

// Makes every rank's `own`, which has a place for each rank, known to all. It must fit into a slot.
std::vector<std::vector<std::size_t>> share_table(Rounds& rounds, std::vector<std::size_t> own,
                                                  const Patience& patience) {
  std::vector<std::vector<std::size_t>> tables(static_cast<std::size_t>(rounds.size()),
                                               std::vector<std::size_t>(own.size()));
  const std::size_t bytes = own.size() * sizeof(own[0]);
  rounds.run(
      1, 0, patience, [&](std::int64_t) { std::memcpy(rounds.own_slot(patience), own.data(), bytes); },
      [&](std::int64_t) {
        for_each_other(rounds, [&](int other) {
          std::memcpy(tables[static_cast<std::size_t>(other)].data(), rounds.slot_of(other, patience), bytes);
        });
      });
  tables[static_cast<std::size_t>(rounds.rank())] = std::move(own);
  return tables;
}

}  // namespace

void broadcast(Rounds& rounds, Block block, int root, const Patience& patience) {
  const ConstBlock shown{block.data, block.bytes};
  const Wanted wanted{root, 0, block};
  const bool is_root = rounds.rank() == root;
  move(rounds, rounds_for(block.bytes), {&shown, is_root ? 1U : 0U}, {&wanted, is_root ? 0U : 1U}, patience);
}

void all_gather(Rounds& rounds, ConstBlock input, std::span<const Block> outputs, const Patience& patience) {
  copy(outputs[static_cast<std::size_t>(rounds.rank())], input);
  std::vector<Wanted> wanted;
  for_each_other(rounds, [&](int other) { wanted.push_back({other, 0, outputs[static_cast<std::size_t>(other)]}); });
  const auto largest = std::max_element(outputs.begin(), outputs.end(),
                                        [](const Block& a, const Block& b) { return a.bytes < b.bytes; });
  move(rounds, rounds_for(largest->bytes), {&input, 1}, wanted, patience);
}

void exchange(Rounds& rounds, std::span<const ConstBlock> inputs, std::span<const Block> outputs,
              const Patience& patience) {
  const auto self = static_cast<std::size_t>(rounds.rank());
  copy(outputs[self], inputs[self]);
  std::vector<ConstBlock> shown;
  // Where the part for each rank begins in what this rank shows; at its own place, where all ends.
  std::vector<std::size_t> begins(inputs.size());
  for_each_other(rounds, [&](int other) {
    const auto index = static_cast<std::size_t>(other);
    begins[index] = begins[self];
    begins[self] += inputs[index].bytes;
    shown.push_back(inputs[index]);
  });
  const auto tables = share_table(rounds, std::move(begins), patience);

  std::vector<Wanted> wanted;
  std::size_t longest = tables[self][self];
  for_each_other(rounds, [&](int other) {
    const auto index = static_cast<std::size_t>(other);
    wanted.push_back({other, tables[index][self], outputs[index]});
    longest = std::max(longest, tables[index][index]);
  });
  move(rounds, rounds_for(longest), shown, wanted, patience);
}

void barrier(Rounds& rounds, const Patience& patience) {
  const auto show_nothing = [](std::int64_t) {};
  rounds.run(1, 0, patience, show_nothing,
             [&](std::int64_t) { for_each_other(rounds, [&](int other) { rounds.slot_of(other, patience); }); });
}

}  // namespace lockstep::comm::local

// The collectives that only move bytes, in rounds.
#pragma once
#include <span>

#include "../engine.h"
#include "rounds.h"

namespace lockstep::comm::local {

// As the functions of Engine with these names.
void broadcast(Rounds& rounds, Block block, int root, const Patience& patience);
void all_gather(Rounds& rounds, ConstBlock input, std::span<const Block> outputs, const Patience& patience);
void exchange(Rounds& rounds, std::span<const ConstBlock> inputs, std::span<const Block> outputs,
              const Patience& patience);
void barrier(Rounds& rounds, const Patience& patience);

}  // namespace lockstep::comm::local

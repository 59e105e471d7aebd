// The collectives that reduce, in rounds.
#pragma once
#include "../engine.h"
#include "reduction.h"
#include "rounds.h"

namespace lockstep::comm::local {

// As the functions of Engine with these names. All of them reduce in the order of the ranks, so the result does not
// depend on who comes first.
void all_reduce(Rounds& rounds, Elements elements, const Reduction& reduction, const Patience& patience);
void reduce(Rounds& rounds, Elements elements, const Reduction& reduction, int root, const Patience& patience);
void reduce_scatter(Rounds& rounds, Elements input, Elements output, const Reduction& reduction,
                    const Patience& patience);

}  // namespace lockstep::comm::local

// Reductions over messages, with our own kernels, in the order of ranks: the result is bit-equal on every rank and in
// every run, and 16-bit floats are rounded once.
#pragma once
#include <vector>

#include "../engine.h"
#include "../local/reduction.h"
#include "communicator.h"

namespace lockstep::comm::mpi {

using local::Reduction;

// What the calls below need of a group of at least two ranks.
struct Reducer {
  const Communicator& communicator;
  std::vector<std::byte> received;  // what others sent; kept, because fresh memory is slow
};

void all_reduce(Reducer& reducer, Elements elements, const Reduction& reduction, const Patience& patience);
void reduce(Reducer& reducer, Elements elements, const Reduction& reduction, int root, const Patience& patience);
void reduce_scatter(Reducer& reducer, Elements input, Elements output, const Reduction& reduction,
                    const Patience& patience);

}  // namespace lockstep::comm::mpi

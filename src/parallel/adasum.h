#pragma once
#include <cstdint>
#include <vector>

#include <lockstep/comm/group.h>

namespace lockstep::parallel {

// Collective. Replaces `flat`, a contiguous tensor of one dimension that holds several gradients of the given lengths
// end to end, by the Adasum of all ranks: each gradient by itself, ranks in pairs of neighbours, pairs of pairs, and so
// on; who has no neighbour goes on alone. Any number of ranks. Bit-equal on every rank.
void adasum(const Group& group, const at::Tensor& flat, const std::vector<std::int64_t>& lengths);

// The two become one, in `a`.
void combine_by_adasum(const at::Tensor& a, const at::Tensor& b);

}  // namespace lockstep::parallel

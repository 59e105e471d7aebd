#pragma once
#include <lockstep/comm/group.h>
#include <lockstep/nn/batch_norm.h>

namespace lockstep::parallel {

// Normalizes a batch by the statistics of the batches of all ranks.
nn::BatchNormalizer synchronized_normalizer(const Group& group);

}  // namespace lockstep::parallel

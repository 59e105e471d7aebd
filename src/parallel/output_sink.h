#pragma once
#include <functional>

#include <lockstep/parallel/distributed_data_parallel.h>

namespace lockstep::parallel {

// Passes outputs through a node of the graph, so that a gradient that does not come stays undefined instead of becoming
// zeros, and calls `on_backward` when backward reaches it.
void sink_outputs(const Synchronizer::Outputs& outputs, std::function<void()> on_backward);

}  // namespace lockstep::parallel

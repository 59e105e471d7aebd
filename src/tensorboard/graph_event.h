// A graph of operations, as TensorBoard reads it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event_body.h"

namespace lockstep::tensorboard {

struct GraphNode {
  std::string name;  // with slashes: those in front of the last are what TensorBoard folds
  std::string op;
  std::vector<std::string> inputs;  // names of other nodes; of a second result "NAME:1"
  std::string attributes;
  std::optional<std::vector<std::int64_t>> shape;  // of its result
};

EventBody graph_event(const std::vector<GraphNode>& nodes);

// Says that the graph ran on a CPU, without times: TensorBoard looks for such an event beside a graph.
EventBody run_metadata_event();

}  // namespace lockstep::tensorboard

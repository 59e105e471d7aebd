#pragma once
#include <filesystem>

#include "event_body.h"

namespace lockstep::tensorboard {

// The graph of an ONNX file: its inputs and outputs, and a node for each operation, named by its first output. Weights
// inside are skipped over. Throws UsageError for a file that is not ONNX, and for one above two gigabytes.
EventBody onnx_graph_event(const std::filesystem::path& file);

}  // namespace lockstep::tensorboard

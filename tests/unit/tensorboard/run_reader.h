// What stands in the event files of a folder, without the types of protobuf.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/tensorboard/options.h>

#include "tensorboard/graph_event.h"

namespace lockstep::test {

struct ReadValue {
  std::string tag, plugin, plugin_content;
  std::int64_t step = 0;
  double time = 0;
  float scalar = 0;
  tensorboard::RawHistogram histogram = {};
  int width = 0, height = 0, channels = 0;  // of an image
  float sample_rate = 0;                    // of audio
  std::string bytes = {};                   // of an image's or audio's file, or of a text
  std::vector<std::int64_t> shape = {};     // of a tensor
  std::vector<float> numbers = {};          // of a tensor
};

struct ReadRun {
  std::vector<ReadValue> values;
  std::vector<std::vector<tensorboard::GraphNode>> graphs;
  std::int64_t purged_from = -1;  // of the last start of a session
};

// All event files of the folder itself. Throws when one of them is not whole.
ReadRun read_run(const std::filesystem::path& folder);

struct ReadHparams {
  tensorboard::Hparams hparams;
  std::vector<std::string> metrics;
  bool success = false;
};

// Of the values that add_hparams() wrote.
ReadHparams read_hparams(const ReadRun& run);

// The names of charts, with their tags: "category/title: a b c".
std::vector<std::string> read_layout(const ReadValue& value);

}  // namespace lockstep::test

// Reads event files: ours, and those of TensorFlow, tensorboardX and PyTorch.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "event.pb.h"

namespace lockstep::tensorboard {

struct EventFileContent {
  std::vector<proto::Event> events;  // all that are whole, from the beginning
  std::size_t whole_bytes = 0;       // how much of the file they take
  std::string problem;               // why the rest could not be read; empty when there is none
};

EventFileContent parse_events(std::span<const std::byte> file);

// Throws UsageError when there is no such file, or when it is larger than a gigabyte.
EventFileContent read_events(const std::filesystem::path& file);

}  // namespace lockstep::tensorboard

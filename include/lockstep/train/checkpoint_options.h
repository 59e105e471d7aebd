#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <lockstep/checkpoint/keep.h>

namespace lockstep::train {

struct CheckpointOptions {
  std::filesystem::path folder;   // of all checkpoints of the run, on storage that every rank sees; empty: none
  std::int64_t every_epochs = 1;  // 0: not by epochs
  std::int64_t every_steps = 0;   // 0: not by steps
  bool at_end = true;             // of the run
  // The metric is one of an epoch: "test.top1", "train.loss".
  checkpoint::Keep keep = {.last = 2, .best = 1, .metric = "test.top1"};
  bool background = true;                    // training goes on while it is written
  std::map<std::string, std::string> texts;  // to be kept in each: the config, its hash
};

}  // namespace lockstep::train

// Training as `lockstep train` does it.
#pragma once
#include <string>
#include <vector>

#include <lockstep/config/schema.h>
#include <lockstep/train/run_config.h>

namespace lockstep::train {

struct RunOptions {
  RunConfig config;                       // with the data where it was found
  std::vector<config::Setting> settings;  // of the config as it was written, with where each came from
  std::string config_yaml;                // all of it, as it goes into the run's folder
  std::string name;                       // of the run: "cifar100-bs256"
  std::string resume = "default";         // auto, none, or a checkpoint's path; default: as run() finds right
  bool evaluate = false;                  // only look at what the weights are worth
};

// One rank's part of the run; returns its exit code.
int run(const RunOptions& options);

}  // namespace lockstep::train

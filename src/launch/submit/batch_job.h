// The job that a script describes.
#pragma once
#include <string>

#include <lockstep/launch/submit.h>

namespace lockstep::launch {

// The options with their defaults filled in. Everything in it has been checked.
struct BatchJob {
  SubmitOptions options;
  std::string name;
  Starter starter = Starter::kRun;
  int ranks_per_node = 1;
  int cores_per_rank = 0;  // 0: the ranks of a node share all of it
  int cpus_per_rank = 0;   // hardware threads: `threads_per_core` for each core

  int ranks() const { return options.nodes * ranks_per_node; }
};

// Throws UsageError with what was found and what would have been right.
BatchJob plan(const SubmitOptions& options);

}  // namespace lockstep::launch

#pragma once
#include <string>

#include <lockstep/launch/child.h>
#include <lockstep/launch/run.h>

namespace lockstep::launch {

// Where a rank stands in its job.
struct RankPlace {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  int node = 0;
  int nodes = 1;
  std::string master_address = "127.0.0.1";
  int master_port = 0;
  int restarts = 0;
  int max_restarts = 0;
  std::string job;         // its name, the same on all nodes and at all restarts
  std::string rendezvous;  // ADDRESS:PORT of the launcher's own; empty: ranks meet at PyTorch's store
  int token_fd = -1;       // the descriptor that holds the job's token
};

// The variables that tell a rank its place: torchrun's, so that any PyTorch program finds it, and ours.
Variables place_variables(const RankPlace& place);

// The variables that the user wants ranks to have, and those that follow from how their output is shown.
Variables variables_for(const RunOptions& options);

}  // namespace lockstep::launch

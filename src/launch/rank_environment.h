#pragma once
#include <map>
#include <string>

namespace lockstep::launch {

struct RankPlace {
  int rank = 0;
  int size = 1;
  int master_port = 0;
  std::string rendezvous;  // ADDRESS:PORT of the launcher's own
  int token_fd = -1;       // the descriptor that holds the job's token
};

// The variables that a rank on a one-node job gets: torchrun's, so that any PyTorch program finds its place.
std::map<std::string, std::string> rank_environment(const RankPlace& place);

}  // namespace lockstep::launch

#include "rank_environment.h"

namespace lockstep::launch {

std::map<std::string, std::string> rank_environment(const RankPlace& place) {
  const std::string rank = std::to_string(place.rank);
  const std::string size = std::to_string(place.size);
  std::map<std::string, std::string> variables = {
      {"RANK", rank},
      {"WORLD_SIZE", size},
      {"LOCAL_RANK", rank},
      {"LOCAL_WORLD_SIZE", size},
      {"GROUP_RANK", "0"},
      {"GROUP_WORLD_SIZE", "1"},
      {"ROLE_RANK", rank},
      {"ROLE_WORLD_SIZE", size},
      {"MASTER_ADDR", "127.0.0.1"},
      {"MASTER_PORT", std::to_string(place.master_port)},
      {"LOCKSTEP_LAUNCHER", "run"},
  };
  if (!place.rendezvous.empty()) {
    variables["LOCKSTEP_RENDEZVOUS"] = place.rendezvous;
    variables["LOCKSTEP_TOKEN_FD"] = std::to_string(place.token_fd);
  }
  return variables;
}

}  // namespace lockstep::launch

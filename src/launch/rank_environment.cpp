#include "rank_environment.h"

#include <unistd.h>

#include <lockstep/base/environment.h>

namespace lockstep::launch {

Variables place_variables(const RankPlace& place) {
  const std::string rank = std::to_string(place.rank);
  const std::string size = std::to_string(place.size);
  Variables variables = {
      {"RANK", rank},
      {"WORLD_SIZE", size},
      {"LOCAL_RANK", std::to_string(place.local_rank)},
      {"LOCAL_WORLD_SIZE", std::to_string(place.local_size)},
      {"GROUP_RANK", std::to_string(place.node)},
      {"GROUP_WORLD_SIZE", std::to_string(place.nodes)},
      {"ROLE_NAME", "default"},
      {"ROLE_RANK", rank},
      {"ROLE_WORLD_SIZE", size},
      {"MASTER_ADDR", place.master_address},
      {"MASTER_PORT", std::to_string(place.master_port)},
      {"TORCHELASTIC_RESTART_COUNT", std::to_string(place.restarts)},
      {"TORCHELASTIC_MAX_RESTARTS", std::to_string(place.max_restarts)},
      {"TORCHELASTIC_RUN_ID", place.job},
      {"LOCKSTEP_LAUNCHER", "run"},
  };
  if (!place.rendezvous.empty()) {
    variables["LOCKSTEP_RENDEZVOUS"] = place.rendezvous;
    variables["LOCKSTEP_TOKEN_FD"] = std::to_string(place.token_fd);
  }
  // A rank's stdout is a pipe; Python would hold lines back until it has 8 KiB of them.
  if (!env::get("PYTHONUNBUFFERED")) variables["PYTHONUNBUFFERED"] = "1";
  return variables;
}

Variables variables_for(const RunOptions& options) {
  Variables variables = options.environment;
  if (options.all_ranks) variables["LOCKSTEP_LOG"] = env::get("LOCKSTEP_LOG").value_or("info") + ",all";
  if (options.output.label) variables["LOCKSTEP_LABELLED"] = "1";
  const bool is_shown = options.output.show != OutputOptions::Show::kNone;
  if (is_shown && ::isatty(STDOUT_FILENO) == 1) variables["LOCKSTEP_TERMINAL"] = "1";  // a rank's own is a pipe
  return variables;
}

}  // namespace lockstep::launch

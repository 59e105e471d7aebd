#include <lockstep/launch/require_no_rank.h>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/placement.h>

namespace lockstep::launch {
namespace {

// Variables that contradict each other are of no launcher; the ranks get their own.
Placement known_placement() {
  try {
    return discover_placement();
  } catch (const UsageError&) {
    return {};
  }
}

bool is_node_of_srun(const Placement& place) {
  const bool has_launcher_below_srun = place.source == "lockstep run" || place.source == "torchrun";
  return !has_launcher_below_srun && env::get_int("SLURM_STEP_NUM_NODES").value_or(1) > 1;
}

}  // namespace

void require_no_rank(const std::string& flag) {
  const Placement place = known_placement();
  if (place.rank.size == 1 || is_node_of_srun(place)) return;
  const bool by_hand = place.source == "RANK and WORLD_SIZE";
  throw UsageError({.message = fmt::format("this is rank {} of {} already, and a rank starts no ranks of its own",
                                           place.rank.rank, place.rank.size),
                    .found = fmt::format("{}, in a rank of {}", flag, place.source),
                    .next = fmt::format(
                        "leave out {}, and the {} ranks are one job; or {}", flag, place.rank.size,
                        by_hand ? "unset RANK and WORLD_SIZE" : "start this command once, without " + place.source)});
}

}  // namespace lockstep::launch

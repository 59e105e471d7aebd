#include <lockstep/base/placement.h>

#include <array>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>

#include "slurm.h"

namespace lockstep {
namespace {

constexpr std::int64_t kMaxRanks = std::int64_t{1} << 24;
constexpr std::int64_t kMaxPort = 65535;

// One launcher's names for the same things. An empty name: it has none.
struct Source {
  std::string name;
  std::string rank, size, local_rank, local_size, node;
};

const std::array<Source, 7>& sources() {
  static const std::array<Source, 7> kSources = {{
      {"RANK and WORLD_SIZE", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"},
      {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE", ""},
      {"PALS", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID", "PMI_LOCAL_SIZE", "PALS_NODEID"},
      {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ""},
      {"ALPS", "ALPS_APP_PE", "PMI_SIZE", "", "", ""},
      {"Slurm with PMIx", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_NODEID"},
      {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_NODEID"},
  }};
  return kSources;
}

std::optional<int> get_small_int(const std::string& name, std::int64_t min, std::int64_t max) {
  if (name.empty()) return std::nullopt;
  const auto value = env::get_int(name, min, max);
  return value ? std::optional<int>(static_cast<int>(*value)) : std::nullopt;
}

// The rank that a source gives, or nothing when the source is not there or not complete.
std::optional<RankId> read_rank(const Source& source) {
  if (source.name.starts_with("Slurm") && !env::get("SLURM_STEP_ID")) return std::nullopt;
  const auto rank = get_small_int(source.rank, 0, kMaxRanks);
  const auto size = get_small_int(source.size, 1, kMaxRanks);
  if (!rank || !size) return std::nullopt;
  if (*rank >= *size) {
    throw UsageError({.message = fmt::format("{}={} is outside the job", source.rank, *rank),
                      .expected = fmt::format("0 to {}, because {}={}", *size - 1, source.size, *size)});
  }
  return RankId{*rank, *size};
}

void require_agreement(const Source& a, const Source& b) {
  const auto first = read_rank(a);
  const auto second = read_rank(b);
  if (!first || !second) return;
  const auto disagree = [](const std::string& x, int x_value, const std::string& y, int y_value) {
    return UsageError({.message = fmt::format("{}={} but {}={}", x, x_value, y, y_value),
                       .expected = "one answer to where this process stands",
                       .next = fmt::format("unset {} or {}, whichever is stale", x, y)});
  };
  if (first->size != second->size) throw disagree(a.size, first->size, b.size, second->size);
  if (first->rank != second->rank) throw disagree(a.rank, first->rank, b.rank, second->rank);
}

// A launcher that starts ranks inside another one's task knows better than the variables around it.
bool variables_are_from_a_launcher() {
  return env::get("LOCKSTEP_LAUNCHER") || env::get("TORCHELASTIC_RUN_ID");
}

std::string source_name(const Source& source) {
  if (source.rank != "RANK") return source.name;
  if (env::get("LOCKSTEP_LAUNCHER")) return "lockstep run";
  if (env::get("TORCHELASTIC_RUN_ID")) return "torchrun";
  return source.name;
}

void require_complete(const char* present, const char* absent) {
  if (env::get(present) && !env::get(absent)) {
    throw UsageError({.message = fmt::format("{} is set but {} is not", present, absent),
                      .next = fmt::format("set both, or unset {}", present)});
  }
}

// aprun tells each process its rank but not how many there are.
std::optional<RankId> read_alps_rank() {
  const auto rank = get_small_int("ALPS_APP_PE", 0, kMaxRanks);
  if (!rank || env::get("PMI_SIZE") || variables_are_from_a_launcher()) return std::nullopt;
  const auto size = get_small_int("WORLD_SIZE", 1, kMaxRanks);
  if (!size || *rank >= *size) {
    throw UsageError({.message = fmt::format("ALPS_APP_PE={}, but the number of ranks is not known", *rank),
                      .found = "WORLD_SIZE=" + env::get("WORLD_SIZE").value_or(""),
                      .next = "aprun -n N -e WORLD_SIZE=N PROGRAM"});
  }
  return RankId{*rank, *size};
}

// What is known beyond the rank: where rank 0 can be met.
void read_master(Placement& placement) {
  placement.master_address = env::get("MASTER_ADDR").value_or("");
  placement.master_port = get_small_int("MASTER_PORT", 1, kMaxPort);
  if (!placement.source.starts_with("Slurm")) return;
  if (get_small_int("SLURM_STEP_NUM_NODES", 1, kMaxRanks) == 1) placement.local_size = placement.rank.size;
  const auto hosts = env::get("SLURM_STEP_NODELIST");
  if (placement.master_address.empty() && hosts) placement.master_address = expand_slurm_hosts(*hosts).front();
}

}  // namespace

Placement discover_placement(const std::optional<RankId>& known) {
  Placement placement;
  if (known) {
    if (known->rank < 0 || known->rank >= known->size) {
      throw UsageError({.message = fmt::format("rank {} is outside a world of {}", known->rank, known->size),
                        .expected = "a rank from 0 to one less than the number of ranks"});
    }
    placement.rank = *known;
    placement.source = "the program";
    read_master(placement);
    return placement;
  }
  if (const auto alps = read_alps_rank()) {
    placement.rank = *alps;
    placement.source = "ALPS";
    read_master(placement);
    return placement;
  }
  require_complete("RANK", "WORLD_SIZE");
  require_complete("WORLD_SIZE", "RANK");
  const auto& all = sources();
  if (!variables_are_from_a_launcher()) {
    for (std::size_t i = 1; i < all.size(); ++i) require_agreement(all[0], all[i]);
    require_agreement(all[1], all[3]);
  }
  placement.source = "none: a single process";
  for (const Source& source : all) {
    const auto rank = read_rank(source);
    if (!rank) continue;
    placement.rank = *rank;
    placement.local_rank = get_small_int(source.local_rank, 0, rank->size - 1);
    placement.local_size = get_small_int(source.local_size, 1, rank->size);
    placement.node = get_small_int(source.node, 0, rank->size - 1);
    placement.source = source_name(source);
    break;
  }
  read_master(placement);
  return placement;
}

}  // namespace lockstep

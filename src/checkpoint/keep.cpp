#include <lockstep/checkpoint/keep.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/checkpoint/checkpoint.h>

#include "folders.h"
#include "writer_lock.h"

namespace lockstep::checkpoint {
namespace {

void check(const Keep& keep) {
  if (keep.last < 0 || keep.best < 0) {
    throw UsageError({.message = "a negative number of checkpoints cannot be kept",
                      .found = fmt::format("last {}, best {}", keep.last, keep.best)});
  }
  if (keep.best > 0 && keep.metric.empty()) {
    throw UsageError({.message = "the best checkpoints are to be kept, but by which metric?",
                      .next = "name a metric, or keep only the last"});
  }
}

std::vector<Candidate> candidates_in(const std::filesystem::path& checkpoints, const std::string& metric) {
  std::vector<Candidate> candidates;
  for (const std::int64_t step : steps_in(checkpoints)) {
    try {
      const Manifest manifest = read_manifest(checkpoint_folder(checkpoints, step));
      const auto found = manifest.numbers.find(metric);
      candidates.push_back({.step = step, .metric = std::nullopt});
      if (found != manifest.numbers.end()) candidates.back().metric = found->second;
    } catch (const Error&) {
      continue;  // not a good one, and perhaps not ours
    }
  }
  return candidates;
}

// The newest that is whole is found quickly: it was written a moment ago.
std::string why_none_is_good(const std::filesystem::path& checkpoints, std::vector<std::int64_t> steps) {
  std::string why = "none of those that stay is whole";
  std::reverse(steps.begin(), steps.end());
  for (const std::int64_t step : steps) {
    try {
      verify(checkpoint_folder(checkpoints, step));
      return "";
    } catch (const Error& error) {
      why += fmt::format("; {}", error.what());
    }
  }
  return why;
}

}  // namespace

std::vector<std::int64_t> superfluous(std::span<const Candidate> candidates, const Keep& keep) {
  check(keep);
  std::vector<Candidate> sorted(candidates.begin(), candidates.end());
  std::sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) { return a.step > b.step; });
  std::set<std::int64_t> rest;
  for (std::size_t i = static_cast<std::size_t>(std::max(keep.last, 1)); i < sorted.size(); ++i) {
    rest.insert(sorted[i].step);
  }
  std::erase_if(sorted, [](const Candidate& c) { return !c.metric || std::isnan(*c.metric); });
  std::reverse(sorted.begin(), sorted.end());  // of equals the first one is the best, as for whoever trains
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Candidate& a, const Candidate& b) {
    return keep.larger_is_better ? *a.metric > *b.metric : *a.metric < *b.metric;
  });
  for (std::size_t i = 0; i < std::min(sorted.size(), static_cast<std::size_t>(keep.best)); ++i) {
    rest.erase(sorted[i].step);
  }
  return {rest.begin(), rest.end()};
}

Pruned prune(const std::filesystem::path& checkpoints, const Keep& keep) {
  const WriterLock lock(checkpoints);
  remove_leftovers(checkpoints);
  const std::vector<Candidate> candidates = candidates_in(checkpoints, keep.metric);
  const std::vector<std::int64_t> leaving = superfluous(candidates, keep);
  if (leaving.empty()) return {};
  std::vector<std::int64_t> staying;
  for (const Candidate& candidate : candidates) {
    if (!std::binary_search(leaving.begin(), leaving.end(), candidate.step)) staying.push_back(candidate.step);
  }
  Pruned result{.removed = {}, .problem = why_none_is_good(checkpoints, std::move(staying))};
  if (!result.problem.empty()) return result;
  try {
    for (const std::int64_t step : leaving) {
      remove_checkpoint(checkpoints, step);
      result.removed.push_back(step);
    }
  } catch (const RuntimeError& error) {
    result.problem = error.what();
  }
  return result;
}

std::optional<std::filesystem::path> set_newer_aside(const std::filesystem::path& checkpoints, std::int64_t step) {
  const WriterLock lock(checkpoints);
  std::vector<std::int64_t> newer = steps_in(checkpoints);
  std::erase_if(newer, [&](std::int64_t other) { return other <= step; });
  if (newer.empty()) return std::nullopt;
  std::filesystem::path aside = checkpoints;
  aside += fmt::format("-after-{}", step);
  for (int i = 2; std::filesystem::exists(aside); ++i) {
    aside = checkpoints;
    aside += fmt::format("-after-{}-{}", step, i);
  }
  try {
    std::filesystem::create_directory(aside);
    for (const std::int64_t other : newer) {
      std::filesystem::rename(checkpoint_folder(checkpoints, other), aside / std::to_string(other));
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw RuntimeError(fmt::format("checkpoints after step {} cannot be moved aside: {}", step, error.what()));
  }
  return aside;
}

}  // namespace lockstep::checkpoint

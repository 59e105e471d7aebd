#include "mask_check.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/cpu_list.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::launch {
namespace {

std::vector<int> usable_cpus(const Machine& machine) {
  std::vector<int> cpus;
  for (const Core& core : machine.cores) cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

void check_mask(const std::vector<int>& usable, std::size_t number, const std::vector<int>& mask) {
  if (mask.empty()) {
    throw UsageError(
        {.message = fmt::format("--bind: mask {} is empty", number), .expected = "at least one bit for each rank"});
  }
  std::vector<int> strange;
  std::set_difference(mask.begin(), mask.end(), usable.begin(), usable.end(), std::back_inserter(strange));
  if (strange.empty()) return;
  throw UsageError({.message = fmt::format("--bind: mask {} has cpus that this process cannot use", number),
                    .found = "cpus " + format_cpu_list(strange),
                    .expected = "some of " + format_cpu_list(usable)});
}

}  // namespace

void check_masks(const Machine& machine, int ranks, const std::vector<std::vector<int>>& masks,
                 std::vector<std::string>& warnings) {
  if (std::cmp_not_equal(masks.size(), ranks)) {
    throw UsageError({.message = "--bind masks= needs one mask for each rank of the node",
                      .found = format_plural(static_cast<std::int64_t>(masks.size()), "mask"),
                      .expected = std::to_string(ranks)});
  }
  const std::vector<int> usable = usable_cpus(machine);
  for (std::size_t i = 0; i < masks.size(); ++i) {
    check_mask(usable, i, masks[i]);
    for (std::size_t other = 0; other < i; ++other) {
      std::vector<int> common;
      std::set_intersection(masks[i].begin(), masks[i].end(), masks[other].begin(), masks[other].end(),
                            std::back_inserter(common));
      if (common.empty()) continue;
      warnings.push_back(fmt::format("--bind: ranks {} and {} share cpus {}", other, i, format_cpu_list(common)));
    }
  }
}

std::vector<Core> cores_of_mask(const Machine& machine, const std::vector<int>& mask) {
  std::vector<Core> cores;
  for (const Core& core : machine.cores) {
    Core part{.numa_node = core.numa_node, .package = core.package};
    std::copy_if(core.cpus.begin(), core.cpus.end(), std::back_inserter(part.cpus),
                 [&](int cpu) { return std::binary_search(mask.begin(), mask.end(), cpu); });
    if (!part.cpus.empty()) cores.push_back(std::move(part));
  }
  return cores;
}

}  // namespace lockstep::launch

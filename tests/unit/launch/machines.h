// The machines that people have, in hwloc's words. Linux numbers the first hardware threads of all cores before the
// second ones: "indexes=2*56:1*2" for two of each of 56 cores.
#pragma once
#include <string>

#include <gmock/gmock.h>

#include <lockstep/base/cpu_list.h>
#include <lockstep/launch/binding.h>

namespace lockstep::launch {

constexpr const char* kLaptop = "pack:1 numa:1 core:4 pu:2(indexes=2*4:1*2)";
constexpr const char* kHaswell = "pack:2 numa:1 core:16 pu:2(indexes=2*32:1*2)";
constexpr const char* kTwoTimes28 = "pack:2 numa:1 core:28 pu:2(indexes=2*56:1*2)";
constexpr const char* kKnl68 = "pack:1 numa:1 core:68 pu:4(indexes=4*68:1*4)";
constexpr const char* kKnl64 = "pack:1 numa:1 core:64 pu:4(indexes=4*64:1*4)";
constexpr const char* kKnl64InQuarters = "pack:1 numa:4 core:16 pu:4(indexes=4*64:1*4)";
constexpr const char* kEightNodes = "pack:2 numa:4 core:16 pu:2(indexes=2*128:1*2)";

inline Machine machine(const std::string& synthetic) {
  return {.cores = describe_topology(synthetic).usable};
}

// The cpus of each rank, as Linux writes them.
inline std::vector<std::string> cpus(const NodeBinding& binding) {
  std::vector<std::string> lists;
  for (const RankBinding& rank : binding.ranks) lists.push_back(format_cpu_list(rank.cpus));
  return lists;
}

inline std::vector<std::string> comm_cpus(const NodeBinding& binding) {
  std::vector<std::string> lists;
  for (const RankBinding& rank : binding.ranks) lists.push_back(format_cpu_list(rank.comm_cpus));
  return lists;
}

inline std::vector<int> threads(const NodeBinding& binding) {
  std::vector<int> counts;
  for (const RankBinding& rank : binding.ranks) counts.push_back(rank.threads);
  return counts;
}

inline constexpr BindKind kCore = BindKind::kCore;

}  // namespace lockstep::launch

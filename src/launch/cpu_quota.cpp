#include "cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <lockstep/base/text.h>

namespace lockstep::launch {
namespace {

// Version 2 has "200000 100000" or "max 100000" in one file.
std::optional<double> unified_quota(const std::filesystem::path& folder) {
  std::ifstream file(folder / "cpu.max");
  double quota = 0, period = 0;
  if (file >> quota >> period && period > 0) return quota / period;
  return std::nullopt;
}

// Version 1 has two files, and -1 for no limit.
std::optional<double> legacy_quota(const std::filesystem::path& folder) {
  std::ifstream quota_file(folder / "cpu.cfs_quota_us"), period_file(folder / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

template <typename Read>
std::optional<double> lowest_on_the_way(const std::filesystem::path& root, const std::string& group, Read&& read) {
  std::optional<double> lowest = read(root);
  std::filesystem::path folder = root;
  for (const auto& part : std::filesystem::path(group).relative_path()) {
    folder /= part;
    if (const auto quota = read(folder)) lowest = std::min(*quota, lowest.value_or(*quota));
  }
  return lowest;
}

}  // namespace

std::optional<double> read_cpu_quota(const std::filesystem::path& membership, const std::filesystem::path& mount) {
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {  // "0::/user.slice" or "4:cpu,cpuacct:/docker/1f2e"
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    if (const auto quota = parts[1].empty() ? lowest_on_the_way(mount, parts[2], unified_quota) : std::nullopt) {
      return quota;
    }
    const auto controllers = split(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "cpu") == controllers.end()) continue;
    if (const auto quota = lowest_on_the_way(mount / "cpu", parts[2], legacy_quota)) return quota;
  }
  return std::nullopt;
}

}  // namespace lockstep::launch

#include "available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

// The number behind a name at the beginning of a line, such as "MemAvailable:".
std::optional<std::uint64_t> find_number(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::uint64_t number = 0;
    if (line.starts_with(name + " ") && std::istringstream(line.substr(name.size())) >> number) return number;
  }
  return std::nullopt;
}

// The one number that the file holds; nothing for "max", or without the file.
std::optional<std::uint64_t> read_number(const fs::path& path) {
  std::uint64_t number = 0;
  return std::ifstream(path) >> number ? std::optional(number) : std::nullopt;
}

// What a group has left.
std::optional<std::uint64_t> left_in(const fs::path& group) {
  const auto most = read_number(group / "memory.max"), used = read_number(group / "memory.current");
  if (!most || !used) return std::nullopt;
  const std::uint64_t droppable = find_number(group / "memory.stat", "inactive_file").value_or(0);
  const std::uint64_t held = *used - std::min(*used, droppable);
  return *most - std::min(*most, held);
}

// The group of version 2 that this process is in, "/a/b".
std::string own_group(const fs::path& membership) {
  const std::string prefix = "0::/";
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(prefix)) return line.substr(prefix.size() - 1);
  }
  return "/";
}

}  // namespace

std::uint64_t available_memory(const MemoryFiles& files) {
  constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max(), kKiB = 1024;
  std::uint64_t least = kUnknown;
  if (const auto system = find_number(files.system, "MemAvailable:")) least = *system * kKiB;
  for (fs::path group = own_group(files.membership);; group = group.parent_path()) {
    if (const auto left = left_in(files.groups / group.relative_path())) least = std::min(least, *left);
    if (group == group.parent_path()) break;
  }
  return least == kUnknown ? 0 : std::max<std::uint64_t>(least, 1);
}

}  // namespace lockstep::train

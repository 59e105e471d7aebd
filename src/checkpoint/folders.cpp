#include "folders.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/base/log.h>

namespace lockstep::checkpoint {
namespace {

constexpr std::string_view kWriting = ".writing-", kRemoving = ".removing-";

std::optional<std::int64_t> step_of(std::string_view name) {
  std::int64_t step = -1;
  std::from_chars(name.data(), name.data() + name.size(), step);
  if (step < 0 || std::to_string(step) != name) return std::nullopt;
  return step;
}

bool is_temporary(std::string_view name) {
  for (const std::string_view prefix : {kWriting, kRemoving}) {
    if (name.starts_with(prefix) && step_of(name.substr(prefix.size()))) return true;
  }
  return false;
}

RuntimeError cannot(const char* action, const std::filesystem::path& path) {
  return system_error(fmt::format("cannot {} '{}'", action, path.string()), errno);
}

// Empty for a folder that is not there.
std::vector<std::string> names_in(const std::filesystem::path& folder) {
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  const std::unique_ptr<DIR, Close> stream(::opendir(folder.c_str()));
  if (stream == nullptr && errno == ENOENT) return {};
  if (stream == nullptr) throw cannot("read folder", folder);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) throw cannot("read folder", folder);
  return names;
}

}  // namespace

std::filesystem::path checkpoint_folder(const std::filesystem::path& checkpoints, std::int64_t step) {
  return checkpoints / std::to_string(step);
}

std::filesystem::path temporary_folder(const std::filesystem::path& checkpoints, std::int64_t step) {
  return checkpoints / fmt::format("{}{}", kWriting, step);
}

std::vector<std::int64_t> steps_in(const std::filesystem::path& checkpoints) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_in(checkpoints)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

void remove_leftovers(const std::filesystem::path& checkpoints) {
  for (const std::string& name : names_in(checkpoints)) {
    if (is_temporary(name)) try_to_remove(checkpoints / name);
  }
}

void remove_checkpoint(const std::filesystem::path& checkpoints, std::int64_t step) {
  const auto folder = checkpoint_folder(checkpoints, step);
  const auto removing = checkpoints / fmt::format("{}{}", kRemoving, step);
  if (::rename(folder.c_str(), removing.c_str()) != 0) throw cannot("rename", folder);
  // Else a crash of the machine could bring the name back without some of its files.
  files::sync_folder(checkpoints);
  remove_folder(removing);
}

void remove_folder(const std::filesystem::path& folder) {
  for (const std::string& name : names_in(folder)) {
    if (::unlink((folder / name).c_str()) != 0) throw cannot("remove", folder / name);
  }
  if (::rmdir(folder.c_str()) != 0) throw cannot("remove folder", folder);
}

void try_to_remove(const std::filesystem::path& folder) {
  try {
    remove_folder(folder);
  } catch (const RuntimeError& error) {
    log::warning("{}; the next checkpoint tries again", error.what());
  }
}

}  // namespace lockstep::checkpoint

#include "program.h"

#include <unistd.h>

#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::launch {
namespace {

bool is_executable_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::filesystem::path find_program(const std::string& name) {
  if (name.find('/') == std::string::npos) {
    for (const std::string& folder : split(env::get("PATH").value_or(""), ':')) {
      std::filesystem::path candidate = std::filesystem::path(folder.empty() ? "." : folder) / name;
      if (is_executable_file(candidate)) return candidate;
    }
    throw UsageError({.message = fmt::format("program '{}' is not in PATH", name),
                      .next = std::filesystem::exists(name) ? fmt::format("to run the file here, write ./{}", name)
                                                            : "check its name, or give its path"});
  }
  std::error_code error;
  const auto status = std::filesystem::status(name, error);
  if (!std::filesystem::exists(status)) {
    throw UsageError({.message = fmt::format("program '{}' does not exist", name), .next = "check the path"});
  }
  if (std::filesystem::is_directory(status)) {
    throw UsageError({.message = fmt::format("'{}' is a folder, not a program", name), .next = "name a file in it"});
  }
  if (!is_executable_file(name)) {
    throw UsageError({.message = fmt::format("'{}' is not executable", name),
                      .next = fmt::format("chmod +x {}, or name its interpreter first", name)});
  }
  return name;
}

}  // namespace lockstep::launch

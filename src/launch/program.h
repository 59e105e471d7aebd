#pragma once
#include <filesystem>
#include <string>

namespace lockstep::launch {

// The file that `name` means: itself when it has a slash, else the first executable of that name in PATH. Throws
// UsageError that says what is wrong with it: missing, a folder, not executable.
std::filesystem::path find_program(const std::string& name);

}  // namespace lockstep::launch

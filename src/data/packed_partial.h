// The file that a packed file is until it is complete, TARGET.partial, and who may write it.
#pragma once
#include <filesystem>

#include <lockstep/base/fd.h>

namespace lockstep::data {

// Opens it for this process alone, until the descriptor is closed; makes it when it is not there. Throws UsageError
// when another process writes it, and when `target` exists unless that may be replaced.
UniqueFd take_partial(const std::filesystem::path& partial, const std::filesystem::path& target, bool replace);

// The second half of that. Throws UsageError, and leaves the file alone, when it has another name by now: another
// process has finished it since it was opened.
void lock_partial(int fd, const std::filesystem::path& partial);

}  // namespace lockstep::data

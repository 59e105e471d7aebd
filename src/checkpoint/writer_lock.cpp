#include "writer_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "output_file.h"

namespace lockstep::checkpoint {

WriterLock::WriterLock(const std::filesystem::path& checkpoints)
    : fd_(::open(checkpoints.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!fd_) throw cannot_write(checkpoints, errno);
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  throw UsageError({.message = fmt::format("another process writes checkpoints into '{}'", checkpoints.string()),
                    .next = "give each run a folder of its own, or wait until the other has ended"});
}

}  // namespace lockstep::checkpoint

#include "output_file.h"

#include <fcntl.h>

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include <lockstep/base/files.h>

namespace lockstep::checkpoint {

RuntimeError cannot_write(const std::filesystem::path& path, int error_number) {
  const bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
  return RuntimeError(
      {.message = fmt::format("{} '{}': {}", full ? "there is no room for" : "cannot write", path.string(),
                              std::generic_category().message(error_number)),
       .next = full ? "make room, or keep fewer checkpoints; those that are complete are untouched"
                    : "check the folder, its permissions and the disk; checkpoints that are complete are untouched"});
}

OutputFile::OutputFile(std::filesystem::path path)
    : path_(std::move(path)), fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) {
  if (!fd_) throw cannot_write(path_, errno);
}

void OutputFile::write(std::string_view content) {
  if (const int error = files::write_all(fd_.get(), content)) throw cannot_write(path_, error);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void OutputFile::finish() {
  if (::fsync(fd_.get()) != 0) throw cannot_write(path_, errno);
  // Some file systems tell only now of what went wrong.
  if (::close(fd_.release()) != 0) throw cannot_write(path_, errno);
}

}  // namespace lockstep::checkpoint

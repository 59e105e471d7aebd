#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/checkpoint/safetensors_writer.h>
#include <lockstep/checkpoint/torch_file.h>
#include <lockstep/checkpoint/weights.h>

#include "output_file.h"

namespace lockstep::checkpoint {
namespace {

bool is_for_torch(const std::filesystem::path& path) {
  return path.extension() == ".pt" || path.extension() == ".pth";
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// Removes a file at its end, unless it has got its name.
class Temporary {
 public:
  explicit Temporary(const std::filesystem::path& target)
      : path_(folder_of(target) / fmt::format(".{}.writing-{}", target.filename().string(), ::getpid())) {
    ::unlink(path_.c_str());  // of a process of this number that was killed
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  const std::filesystem::path& path() const { return path_; }

  void take_name(const std::filesystem::path& target, bool replace) {
    const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
    int error = ::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), flags) == 0 ? 0 : errno;
    // Not every file system knows the flag.
    if (error == EINVAL) error = ::rename(path_.c_str(), target.c_str()) == 0 ? 0 : errno;
    if (error != 0) throw cannot_write(target, error);
    path_.clear();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

void check_weights_target(const std::filesystem::path& path, bool replace) {
  if (path.extension() != ".safetensors" && !is_for_torch(path)) {
    throw UsageError({.message = fmt::format("'{}' does not say in which format to write", path.string()),
                      .found = path.has_extension() ? path.extension().string() : "no ending",
                      .expected = ".safetensors, or .pt or .pth for PyTorch"});
  }
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::exists(status)) return;
  if (std::filesystem::is_directory(status)) throw UsageError(fmt::format("'{}' is a folder", path.string()));
  if (replace) return;
  throw UsageError(
      {.message = fmt::format("'{}' exists", path.string()), .next = "take another name, or replace it with --force"});
}

void write_weights(const std::filesystem::path& path, std::span<const data::TensorBytes> tensors, bool replace) {
  check_weights_target(path, replace);
  Temporary temporary(path);
  if (is_for_torch(path)) {
    write_torch_file(temporary.path(), tensors);
  } else {
    // As others mark theirs; some readers ask for it.
    write_safetensors(temporary.path(), tensors, {{"format", "pt"}});
  }
  temporary.take_name(path, replace);
  files::sync_folder(folder_of(path));
}

}  // namespace lockstep::checkpoint

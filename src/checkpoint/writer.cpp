#include <lockstep/checkpoint/writer.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/checkpoint/safetensors_writer.h>

#include "folders.h"
#include "output_file.h"
#include "writer_lock.h"

namespace lockstep::checkpoint {
namespace {

// The folder, after it was made if it was not there.
std::filesystem::path made(std::filesystem::path folder) {
  if (::mkdir(folder.c_str(), 0755) == 0) {
    files::sync_folder(folder.has_parent_path() ? folder.parent_path() : ".");
  } else if (errno != EEXIST) {
    throw cannot_write(folder, errno);
  }
  return folder;
}

std::int64_t checked_step(std::int64_t step) {
  if (step < 0) throw UsageError({.message = "a checkpoint's step is negative", .found = std::to_string(step)});
  return step;
}

}  // namespace

Writer::Writer(std::filesystem::path checkpoints, std::int64_t step)
    : checkpoints_(made(std::move(checkpoints))),
      step_(checked_step(step)),
      lock_(std::make_unique<WriterLock>(checkpoints_)),
      temporary_(temporary_folder(checkpoints_, step)) {
  remove_leftovers(checkpoints_);
  if (::mkdir(temporary_.c_str(), 0755) != 0) throw cannot_write(temporary_, errno);
}

Writer::~Writer() {
  if (lock_ != nullptr) try_to_remove(temporary_);
}

void Writer::write(std::string_view file, std::span<const data::TensorBytes> tensors,
                   const std::map<std::string, std::string>& metadata) {
  add(write_safetensors(temporary_ / file, tensors, metadata));
}

std::filesystem::path Writer::commit(Manifest content) {
  if (lock_ == nullptr) throw UsageError("a checkpoint can be committed only once");
  content.step = step_;
  content.files = files_;
  const std::string json = to_json(content);
  check_files();
  OutputFile manifest(temporary_ / kManifestName);
  manifest.write(json);
  manifest.finish();
  files::sync_folder(temporary_);
  auto target = checkpoint_folder(checkpoints_, step_);
  take_name(target);
  // From here on it is there, whatever else fails.
  const std::unique_ptr<WriterLock> released = std::move(lock_);
  files::sync_folder(checkpoints_);
  if (::access(temporary_.c_str(), F_OK) == 0) try_to_remove(temporary_);  // the one that was replaced
  return target;
}

// Those of other ranks have been seen by nobody here.
void Writer::check_files() const {
  for (const FileRecord& file : files_) {
    const auto path = temporary_ / file.name;
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) throw cannot_write(path, errno);
    if (static_cast<std::uint64_t>(info.st_size) != file.bytes()) {
      throw RuntimeError({.message = fmt::format("'{}' does not have the size that its writer gave it", path.string()),
                          .found = std::to_string(info.st_size),
                          .expected = std::to_string(file.bytes())});
    }
  }
}

void Writer::take_name(const std::filesystem::path& target) const {
  if (::rename(temporary_.c_str(), target.c_str()) == 0) return;
  // One of that step is there: they exchange their names, so that at no time there is none.
  const bool there = errno == ENOTEMPTY || errno == EEXIST;
  if (there && ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return;
  throw cannot_write(target, errno);
}

}  // namespace lockstep::checkpoint

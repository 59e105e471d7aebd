#include "event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

#include "../base/host_name.h"
#include "event.pb.h"
#include "record.h"

namespace lockstep::tensorboard {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A process may write several files in one second.
std::string new_name(const std::string& suffix) {
  static std::atomic<int> made = 0;
  return fmt::format("events.out.tfevents.{:010d}.{}.{}.{}{}", static_cast<std::int64_t>(seconds_now()), host_name(),
                     ::getpid(), made++, suffix);
}

std::string first_record() {
  proto::Event event;
  event.set_wall_time(seconds_now());
  event.set_file_version("brain.Event:2");
  std::string record;
  append_record(record, event.SerializeAsString());
  return record;
}

UsageError cannot(const std::string& what, const std::filesystem::path& path, const std::string& why) {
  return UsageError({.message = fmt::format("cannot {} '{}' for TensorBoard's events: {}", what, path.string(), why),
                     .next = "name a folder that this user may write"});
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder, const std::string& suffix)
    : path_(folder / new_name(suffix)) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw cannot("make the folder", folder, error.message());
  fd_ = UniqueFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd_) throw cannot("make the file", path_, std::strerror(errno));
  if (const int failed = append(first_record())) throw cannot("write", path_, std::strerror(failed));
}

int EventFile::append(std::string_view records) {
  if (dirty_) {
    if (const int failed = cut_back()) return failed;
  }
  if (const int failed = files::write_all(fd_.get(), records)) {
    dirty_ = true;
    cut_back();
    return failed;
  }
  whole_ += static_cast<off_t>(records.size());
  return 0;
}

int EventFile::cut_back() {
  if (::ftruncate(fd_.get(), whole_) != 0 || ::lseek(fd_.get(), whole_, SEEK_SET) < 0) return errno;
  dirty_ = false;
  return 0;
}

int EventFile::sync() const {
  return ::fdatasync(fd_.get()) == 0 ? 0 : errno;
}

}  // namespace lockstep::tensorboard

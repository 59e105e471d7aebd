// One event file on the disk, which grows by whole records.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include <lockstep/base/fd.h>

namespace lockstep::tensorboard {

class EventFile {
 public:
  // Makes events.out.tfevents.TIME.HOST.PID.N in `folder`, and the folder where it is not there, and writes the event
  // that every such file begins with. Throws UsageError when it cannot.
  EventFile(const std::filesystem::path& folder, const std::string& suffix);

  const std::filesystem::path& path() const { return path_; }

  // Appends records, which are whole ones with their frames. Returns errno, 0 for success. Where it fails in the
  // middle, the file is cut back to where it was, at the latest before the next records: no part of one stands before
  // others.
  [[nodiscard]] int append(std::string_view records);

  // Waits until it is on the disk. Returns errno.
  [[nodiscard]] int sync() const;

 private:
  int cut_back();

  std::filesystem::path path_;
  UniqueFd fd_;
  off_t whole_ = 0;     // so much of the file is whole records
  bool dirty_ = false;  // there may be a part of one behind that
};

}  // namespace lockstep::tensorboard

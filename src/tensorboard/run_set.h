// The runs that one SummaryWriter writes: its own, and those in sub-folders that add_scalars() and add_hparams() make.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <lockstep/tensorboard/options.h>

#include "event_body.h"
#include "event_writer.h"

namespace lockstep::tensorboard {

// Seconds since 1970: of `when`, or now.
double seconds(const When& when);

class RunSet {
 public:
  // With `writes` it opens the run of `folder` itself; without, it never touches a file.
  RunSet(std::filesystem::path folder, const SummaryWriterOptions& options, bool writes);

  const std::filesystem::path& folder() const { return folder_; }

  // To the run of the folder itself. These throw UsageError after close(), and RuntimeError when events were lost and
  // options say so.
  void add(const EventBody& event, const When& when);

  // To the run in a sub-folder, which is made when it is not there. Throws UsageError for a name that leads elsewhere.
  void add_to_run(const std::string& name, const EventBody& event, const When& when);

  // Ends the run in a sub-folder: no more will come.
  void close_run(const std::string& name);

  void require_open() const;
  void flush();
  void close();

 private:
  EventWriter& run(const std::string& name);
  void write(const std::string& run, const EventBody& event, const When& when);
  void check(EventWriter& writer) const;

  std::filesystem::path folder_;
  const SummaryWriterOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<EventWriter>> runs_;  // by the name of the sub-folder; empty: the folder itself
  bool closed_ = false;
};

}  // namespace lockstep::tensorboard

// Snapshots of training on their way to the disk.
#pragma once
#include <filesystem>
#include <future>
#include <optional>
#include <string>

#include <lockstep/comm/group.h>
#include <lockstep/train/checkpoint_options.h>

#include "snapshot.h"

namespace lockstep::train {

// Copies what it is given and writes the copy in a thread of its own, so that training goes on. Where the state is
// divided each rank writes its share, and rank 0 completes the checkpoint when all shares have come.
//
// A checkpoint that cannot be written is an error, on rank 0, where there is no good one to go back to; else a warning.
class Checkpointer {
 public:
  Checkpointer(Group group, CheckpointOptions options);
  ~Checkpointer();  // waits
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Collective. Waits for the one before. The tensors may change as soon as it returns. Returns the folder that the
  // checkpoint is going to have.
  std::filesystem::path save(const Snapshot& snapshot);

  // Looks, without waiting, how the writing has ended, if it has.
  void poll();

  // Waits until all is written. Throws RuntimeError on rank 0 if the last one could not be.
  void finish();

  // There is a good one of that step in the folder: training went on from it.
  void note_good(std::int64_t step) { last_good_ = step; }

 private:
  struct Job;
  std::shared_ptr<Job> make_job(const Snapshot& snapshot);
  void wait();
  void tolerate(const std::string& problem) const;
  [[noreturn]] void fail(const std::string& problem) const;

  Group group_;
  CheckpointOptions options_;
  std::optional<std::int64_t> last_good_;  // known to rank 0
  std::int64_t step_ = 0;                  // of the last that was to be written
  std::string problem_;                    // of that one
  std::future<void> writing_;
};

}  // namespace lockstep::train

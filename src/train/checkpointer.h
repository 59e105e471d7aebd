// Snapshots of training on their way to the disk.
#pragma once
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include <lockstep/base/errors.h>
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
  // Collective. Makes the folder. Throws UsageError for a `keep` that makes no sense, RuntimeError for a folder that
  // cannot be written to; on all ranks.
  Checkpointer(Group group, CheckpointOptions options);
  ~Checkpointer();  // waits
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Collective. Waits for the one before. The tensors may change as soon as it returns. Returns the folder that the
  // checkpoint is going to have.
  std::filesystem::path save(const Snapshot& snapshot);

  // Looks, without waiting, how the writing has ended, if it has.
  void poll();

  // Collective. Waits until all is written. What became of it, the same on every rank.
  struct Written {
    std::optional<std::int64_t> last_good;  // a step
    std::string problem;                    // why the last that was to be written is not there; empty: it is
  };
  Written finish();

  // Collective. Training went on from the checkpoint of that step, in this very folder. What is newer belongs to a run
  // that was left behind: it is moved aside, or it would seem to be newer than what is written from now on.
  void go_on_from(std::int64_t step);

 private:
  struct Job;
  std::shared_ptr<Job> make_job(const Snapshot& snapshot);
  void wait();
  void tolerate(const std::string& problem);

  Group group_;
  CheckpointOptions options_;
  std::optional<std::int64_t> last_good_;  // known to rank 0
  std::int64_t step_ = 0;                  // of the last that was to be written
  std::string problem_;                    // of that one
  std::shared_ptr<Job> job_;
  std::future<void> writing_;
};

// Why it was not written, and what to do.
[[nodiscard]] RuntimeError unwritten(std::int64_t step, const std::string& problem, bool has_other);

}  // namespace lockstep::train

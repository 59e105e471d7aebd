// Where a run lives, and what it goes on from.
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "../base/folder_lock.h"

namespace lockstep::train {

struct FolderRequest {
  std::filesystem::path output;  // empty: RUNS/NAME-DATE-TIME
  std::string name;
  std::string resume = "default";  // auto, none, a path, or default: auto in a restart, else a new run
  bool is_restart = false;         // by a launcher or a scheduler
  std::filesystem::path runs = "runs";
  std::chrono::seconds patience{5};  // with a run that is there: the one before a restart may still be ending
};

struct RunFolder {
  std::filesystem::path folder;                     // there, with its subfolder of checkpoints
  std::optional<std::filesystem::path> checkpoint;  // whole and verified
  std::optional<FolderLock> lock;                   // keeps other runs out of the folder
};

// Decides, says in the log which checkpoints were passed over and why, makes the folder and takes its lock.
//
// - none, and a new run: a fresh folder. Where `output` holds a run already, none moves it aside, and default refuses:
//   nothing is ever written over.
// - auto: the newest good checkpoint of `output`, or of the newest run of that name; a new run where there is none.
// - a path: of a run, of its checkpoints, or of one of them. The run goes on in its own folder, or in `output`.
//
// Throws UsageError for a path without a good checkpoint and for a folder in which another run is under way,
// RuntimeError when the folder cannot be made.
RunFolder choose_folder(const FolderRequest& request);

// What to evaluate: the checkpoint that `resume` names, as above; nothing for none and default. Makes no folder. Throws
// UsageError when there is no good one, also for auto.
std::optional<std::filesystem::path> find_checkpoint(const FolderRequest& request);

// Whether this process belongs to a job that was started again: by lockstep run or torchrun, by Slurm's requeue, or by
// the scripts that lockstep submit writes.
bool is_restart();

}  // namespace lockstep::train

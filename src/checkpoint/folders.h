// The names in a folder of checkpoints: STEP is a checkpoint, .writing-STEP one that is being written, and
// .removing-STEP one that is being removed. Everything else belongs to others.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace lockstep::checkpoint {

std::filesystem::path checkpoint_folder(const std::filesystem::path& checkpoints, std::int64_t step);
std::filesystem::path temporary_folder(const std::filesystem::path& checkpoints, std::int64_t step);

// The steps that have a checkpoint's name, in ascending order; none when the folder is not there.
std::vector<std::int64_t> steps_in(const std::filesystem::path& checkpoints);

// The functions below are for the holder of the WriterLock. They throw RuntimeError when a file call fails.

// Removes what has a temporary name. What cannot be removed is left, with a warning.
void remove_leftovers(const std::filesystem::path& checkpoints);

// A crash leaves all of it under its name, or nothing.
void remove_checkpoint(const std::filesystem::path& checkpoints, std::int64_t step);

// A folder of files; one that holds another folder is refused. The second warns where the first throws.
void remove_folder(const std::filesystem::path& folder);
void try_to_remove(const std::filesystem::path& folder);

}  // namespace lockstep::checkpoint

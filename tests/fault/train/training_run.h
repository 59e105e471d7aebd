// `lockstep train` on a small net and made-up data, as the tests of this folder start it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <lockstep/checkpoint/find.h>

#include "command.h"
#include "temporary_folder.h"

namespace lockstep::test {

inline constexpr int kRunSteps = 60;

// A run of kRunSteps steps on so many ranks, or as one of those that others started if it is 0, that writes a
// checkpoint after each step.
inline std::vector<std::string> training_command(const std::filesystem::path& output, int ranks,
                                                 const std::vector<std::string>& settings = {}) {
  std::vector<std::string> command = {
      program_path("lockstep"), "train", "-a", "lenet", "synthetic", "--resume", "auto"};
  if (ranks > 0) command.insert(command.end(), {"-n", std::to_string(ranks)});
  std::vector<std::string> all = {
      "output=" + output.string(),          "data.samples=192",       "batch_size=12",
      "steps=" + std::to_string(kRunSteps), "optimizer.lr=0.01",      "device=cpu",
      "checkpoint.every_steps=1",           "checkpoint.keep_last=2", "checkpoint.keep_best=0",
      "evaluation.every_epochs=0",          "ema.decay=0.9",          "threads=1"};
  all.insert(all.end(), settings.begin(), settings.end());
  for (const std::string& setting : all) command.insert(command.end(), {"--set", setting});
  return command;
}

// The bytes of the model after the last step; empty when it was not reached.
inline std::string trained_model(const std::filesystem::path& output) {
  return content(output / "checkpoints" / std::to_string(kRunSteps) / "model.safetensors");
}

// The step of the newest good checkpoint; 0 without one.
inline std::int64_t newest_step(const std::filesystem::path& output) {
  const auto found = checkpoint::newest_good(output / "checkpoints");
  return found.checkpoint ? found.checkpoint->manifest().step : 0;
}

}  // namespace lockstep::test

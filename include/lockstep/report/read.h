#pragma once
#include <filesystem>
#include <vector>

#include <lockstep/report/data.h>

namespace lockstep::report {

inline constexpr std::size_t kMostInputs = 64;

// Reads folders of `lockstep train` and JSON files of `lockstep bench`, in any number and mixture, up to kMostInputs.
//
// A folder gives its metrics.jsonl and, where they are there, its config.yaml and machine.json, which is what
// `lockstep info --json` prints. What cannot be read, an input or a line of one, is left out and noted; the rest is
// there. Throws UsageError, with the reasons, when nothing is left.
Data read(const std::vector<std::filesystem::path>& inputs);

}  // namespace lockstep::report

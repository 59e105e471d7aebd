// The command in a script that starts the ranks.
#pragma once
#include <string>
#include <vector>

#include "batch_job.h"

namespace lockstep::launch {

// NAME=VALUE for each variable that the ranks get, ready for bash.
std::vector<std::string> variables(const BatchJob& job);

// A command in parts, ready for bash: who starts the ranks, and what they run.
using Command = std::vector<std::vector<std::string>>;

// `ranks` is their number, or the shell's variable that holds it.
Command start_command(const BatchJob& job, const std::string& ranks);

}  // namespace lockstep::launch

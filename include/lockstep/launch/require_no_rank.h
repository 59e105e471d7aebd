// For commands that start ranks of themselves.
#pragma once
#include <string>

namespace lockstep::launch {

// Throws UsageError, with the `flag` that asked for ranks, where this process is itself one of several: each of them
// would train alone, with ranks that know nothing of the others'. A task of srun on each of several nodes is none of
// those: run() makes one node of a job of it.
void require_no_rank(const std::string& flag);

}  // namespace lockstep::launch

// One function for each scheduler, in a file of its own.
#pragma once
#include <string>

#include "batch_job.h"

namespace lockstep::launch {

std::string slurm_script(const BatchJob& job);
std::string pbs_script(const BatchJob& job);
std::string cobalt_script(const BatchJob& job);

// The file in which a job of PBS or Cobalt finds itself again.
std::string script_file(const BatchJob& job);

}  // namespace lockstep::launch

// What a script does before it starts the ranks.
#pragma once
#include <string>

#include "batch_job.h"

namespace lockstep::launch {

std::string first_line(const BatchJob& job);

// "#SBATCH --qos=premium", or nothing where there is no value.
std::string directive(const std::string& start, const std::string& value);

// What the job is, in a comment; modules; the strict mode of bash.
std::string preparation(const BatchJob& job);

// The variables of the ranks.
std::string exports(const BatchJob& job);

}  // namespace lockstep::launch

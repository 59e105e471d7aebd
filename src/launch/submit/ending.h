// How a script ends: what it makes of signals and of the ranks' exit code.
#pragma once
#include <string>

#include "batch_job.h"
#include "start.h"

namespace lockstep::launch {

// Mends $code where the ranks' own was lost; `signalled` is bash's test for having sent them USR1.
std::string mend_exit_code(const BatchJob& job, const std::string& signalled);

// For schedulers whose users cannot requeue a job, and which give no warning: runs `start`, sends USR1 ahead of the
// time limit, and when it was stopped with a checkpoint runs `resubmit`, in which $restarts says how often that has
// been.
std::string run_and_resubmit(const BatchJob& job, Command start, const std::string& resubmit);

}  // namespace lockstep::launch

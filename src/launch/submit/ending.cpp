#include "ending.h"

#include <fmt/format.h>

#include "shell.h"

namespace lockstep::launch {

std::string mend_exit_code(const BatchJob& job, const std::string& signalled) {
  if (job.starter != Starter::kMpiexec || job.options.requeues == 0) return "";
  return fmt::format(
      R"(# Before MPICH 4.1 Hydra reports 0 once it has passed a signal on. A run that was done comes back
# once more, and finds that out.
if ((code == 0)) && {}; then code=75; fi

)",
      signalled);
}

std::string run_and_resubmit(const BatchJob& job, Command start, const std::string& resubmit) {
  const SubmitOptions& options = job.options;
  const auto quiet_for = (options.time - options.signal_ahead).count();
  const std::vector<std::string> timed = {"timeout", "--foreground", "--preserve-status", "--signal=USR1",
                                          std::to_string(quiet_for)};
  start.insert(start.begin(), timed);
  start.back().emplace_back("|| code=$?");
  std::string text = fmt::format(
      R"(# Nobody warns a job before its time limit, so `timeout` does, {} s ahead: on USR1 the ranks write
# a checkpoint and exit with 75. TERM comes to all processes of a job that is deleted; this shell
# must outlive the ranks then.
{}code=0
{}

{})",
      options.signal_ahead.count(), options.requeues > 0 ? "deleted=no\ntrap 'deleted=yes' TERM\n" : "trap : TERM\n",
      one_command(start), mend_exit_code(job, fmt::format("((SECONDS >= {}))", quiet_for)));
  if (options.requeues > 0) {
    text += fmt::format(
        R"(# 75 says that there is a checkpoint to go on from: submit this file again, unless somebody deleted
# the job or it has been back often enough.
restarts=${{LOCKSTEP_RESTARTS:-0}}
if ((code == 75 && restarts < {})) && [[ $deleted == no ]]; then
  {}
fi
)",
        options.requeues, resubmit);
  }
  return text + "exit \"$code\"\n";
}

}  // namespace lockstep::launch

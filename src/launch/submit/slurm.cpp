#include <fmt/format.h>

#include "ending.h"
#include "job_time.h"
#include "preparation.h"
#include "scripts.h"
#include "shell.h"
#include "start.h"

namespace lockstep::launch {
namespace {

// One task for each rank; or one for each node, in which `lockstep run` has all of the node's cores.
std::string tasks(const BatchJob& job) {
  const bool run = job.starter == Starter::kRun;
  std::string text = fmt::format("#SBATCH --ntasks-per-node={}\n", run ? 1 : job.ranks_per_node);
  if (job.cpus_per_rank == 0) return text + "#SBATCH --exclusive\n";
  text += fmt::format("#SBATCH --cpus-per-task={}\n", job.cpus_per_rank * (run ? job.ranks_per_node : 1));
  return text + fmt::format("#SBATCH --threads-per-core={}\n", job.options.threads_per_core);
}

std::string directives(const BatchJob& job) {
  const SubmitOptions& options = job.options;
  const std::string gpus = options.gpus_per_node > 0 ? std::to_string(options.gpus_per_node) : "";
  return directive("#SBATCH --job-name=", job.name) + directive("#SBATCH --account=", options.account) +
         directive("#SBATCH --partition=", options.queue) + directive("#SBATCH --qos=", options.qos) +
         directive("#SBATCH --constraint=", options.constraint) +
         directive("#SBATCH --nodes=", std::to_string(options.nodes)) + tasks(job) +
         directive("#SBATCH --gpus-per-node=", gpus) + directive("#SBATCH --time=", slurm_time(options.time)) +
         directive("#SBATCH --output=", options.output.empty() ? "%x-%j.out" : options.output) +
         "#SBATCH --open-mode=append\n" + fmt::format("#SBATCH --signal=B:USR1@{}\n", options.signal_ahead.count()) +
         (options.requeues > 0 ? "#SBATCH --requeue\n\n" : "#SBATCH --no-requeue\n\n");
}

// Since 22.05 srun does not take the cores of a task over from sbatch.
std::string cores_of_the_node(const BatchJob& job) {
  if (job.starter != Starter::kRun) return "";
  return fmt::format(R"(# `lockstep run` starts itself on each node through srun, which must be told of the cores again.
export SRUN_CPUS_PER_TASK=${}

)",
                     job.cpus_per_rank == 0 ? "SLURM_CPUS_ON_NODE" : "SLURM_CPUS_PER_TASK");
}

std::string traps(const BatchJob& job) {
  const bool remember = job.options.requeues > 0;
  std::string text = remember ? "asked=nothing\n" : "";
  for (const char* signal : {"USR1", "TERM"}) {
    const std::string asked = remember ? fmt::format("asked={} ", signal) : "";
    text += fmt::format("trap '{}woken=yes; kill -s {} \"$ranks\" || :' {}\n", asked, signal, signal);
  }
  return text;
}

std::string run(const BatchJob& job) {
  Command start = start_command(job, std::to_string(job.ranks()));
  start.back().emplace_back("&");
  return fmt::format(R"(# The ranks find one another by themselves: no MASTER_ADDR, no port.
{}
ranks=$!

# {} s before the time limit Slurm sends USR1 to this shell alone. It goes on to the ranks, which
# write a checkpoint and exit with 75.
{}
# A trapped signal ends `wait`; the ranks still need their time.
woken=yes
while [[ $woken == yes ]]; do
  woken=no code=0
  wait "$ranks" || code=$?
done

{})",
                     one_command(start), job.options.signal_ahead.count(), traps(job),
                     mend_exit_code(job, "[[ $asked == USR1 ]]"));
}

std::string requeue(const BatchJob& job) {
  if (job.options.requeues == 0) return "";
  return fmt::format(
      R"(# 75 says that there is a checkpoint to go on from: back into the queue, unless somebody cancelled
# the job (a preempted one Slurm requeues by itself) or it has been back often enough.
if ((code == 75 && ${{SLURM_RESTART_COUNT:-0}} < {})) && [[ $asked != TERM ]]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
)",
      job.options.requeues);
}

}  // namespace

std::string slurm_script(const BatchJob& job) {
  return first_line(job) + directives(job) + preparation(job) + exports(job) + cores_of_the_node(job) + run(job) +
         requeue(job) + "exit \"$code\"\n";
}

}  // namespace lockstep::launch

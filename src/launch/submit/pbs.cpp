#include <fmt/format.h>

#include "ending.h"
#include "job_time.h"
#include "preparation.h"
#include "scripts.h"

namespace lockstep::launch {
namespace {

// select=2:ncpus=56:mpiprocs=2, on as many hosts
std::string resources(const BatchJob& job) {
  const SubmitOptions& options = job.options;
  const bool run = job.starter == Starter::kRun;
  std::string chunk = fmt::format("select={}", options.nodes);
  if (job.cpus_per_rank > 0) chunk += fmt::format(":ncpus={}", job.cpus_per_rank * job.ranks_per_node);
  chunk += fmt::format(":mpiprocs={}", run ? 1 : job.ranks_per_node);
  if (options.gpus_per_node > 0) chunk += fmt::format(":ngpus={}", options.gpus_per_node);
  if (!options.constraint.empty()) chunk += ":" + options.constraint;
  return fmt::format("#PBS -l {}\n#PBS -l place=scatter:excl\n#PBS -l walltime={}\n", chunk, clock_time(options.time));
}

}  // namespace

std::string pbs_script(const BatchJob& job) {
  const SubmitOptions& options = job.options;
  return first_line(job) + directive("#PBS -N ", job.name) + directive("#PBS -A ", options.account) +
         directive("#PBS -q ", options.queue) + resources(job) + "#PBS -j oe\n" +
         directive("#PBS -o ", options.output) + (options.requeues > 0 ? "#PBS -r y\n" : "#PBS -r n\n") + "\n" +
         preparation(job) + exports(job) + "cd \"$PBS_O_WORKDIR\"\n\n" +
         run_and_resubmit(job, start_command(job, std::to_string(job.ranks())),
                          "qsub -v LOCKSTEP_RESTARTS=$((restarts + 1)) " + script_file(job));
}

}  // namespace lockstep::launch

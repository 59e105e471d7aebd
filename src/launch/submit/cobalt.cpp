#include <fmt/format.h>

#include "ending.h"
#include "job_time.h"
#include "preparation.h"
#include "scripts.h"
#include "start.h"

namespace lockstep::launch {
namespace {

std::string directives(const BatchJob& job) {
  const SubmitOptions& options = job.options;
  return directive("#COBALT --jobname ", job.name) + directive("#COBALT -A ", options.account) +
         directive("#COBALT -q ", options.queue) + directive("#COBALT -n ", std::to_string(options.nodes)) +
         directive("#COBALT -t ", std::to_string(whole_minutes(options.time))) +
         directive("#COBALT --attrs ", options.constraint) + directive("#COBALT -o ", options.output) + "\n";
}

std::string ending(const BatchJob& job, const std::string& ranks) {
  return run_and_resubmit(job, start_command(job, ranks),
                          "qsub --env LOCKSTEP_RESTARTS=$((restarts + 1)) " + script_file(job));
}

}  // namespace

std::string cobalt_script(const BatchJob& job) {
  const std::string text = first_line(job) + directives(job) + preparation(job);
  if (job.starter != Starter::kAprun) return text + exports(job) + ending(job, std::to_string(job.ranks()));
  return text +
         fmt::format(
             R"(# aprun tells no rank how many there are, so WORLD_SIZE does. The script fits any number of nodes.
ranks=$((COBALT_JOBSIZE * {}))

)",
             job.ranks_per_node) +
         ending(job, "\"$ranks\"");
}

}  // namespace lockstep::launch

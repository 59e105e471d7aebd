#include <lockstep/launch/submit.h>

#include <filesystem>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>

#include "ask.h"
#include "batch_job.h"
#include "scripts.h"

namespace lockstep::launch {
namespace {

std::string script_of(const BatchJob& job) {
  switch (job.options.scheduler) {
    case Scheduler::kSlurm:
      return slurm_script(job);
    case Scheduler::kPbs:
      return pbs_script(job);
    case Scheduler::kCobalt:
      break;
  }
  return cobalt_script(job);
}

// Whoever has changed his script wants to keep it.
void keep(const std::string& file, const std::string& script) {
  if (std::filesystem::exists(file) && files::read(file) != script) {
    throw UsageError(
        {.message = fmt::format("'{}' is there already, with another content", file),
         .next = fmt::format("qsub {} submits it as it is; else remove it, or take another --name", file)});
  }
  files::write_atomically(file, script, 0700);
}

}  // namespace

std::string script_file(const BatchJob& job) {
  return job.name + (job.options.scheduler == Scheduler::kPbs ? ".pbs" : ".cobalt");
}

std::string batch_script(const SubmitOptions& options) {
  return script_of(plan(options));
}

std::string submit(const SubmitOptions& options) {
  const BatchJob job = plan(options);
  const std::string script = script_of(job);
  if (options.scheduler == Scheduler::kSlurm) return ask({"sbatch", "--parsable"}, script);
  keep(script_file(job), script);
  return ask({"qsub", script_file(job)}, "");
}

}  // namespace lockstep::launch

#include "start.h"

#include <fmt/format.h>

#include "shell.h"

namespace lockstep::launch {
namespace {

// A flag and its value, which stay on one line.
std::string flag(const char* name, const std::string& value) {
  return fmt::format("{} {}", name, value);
}
std::string flag(const char* name, int value) {
  return flag(name, std::to_string(value));
}

std::vector<std::string> run_words(const BatchJob& job) {
  const SubmitOptions& options = job.options;
  std::vector<std::string> words = {"lockstep run", flag("--ranks-per-node", job.ranks_per_node)};
  if (options.threads) words.push_back(flag("--threads", *options.threads));
  if (options.threads_per_core > 1) words.push_back(flag("--threads-per-core", options.threads_per_core));
  if (options.cores_for_comm > 0) words.push_back(flag("--cores-for-comm", options.cores_for_comm));
  words.emplace_back("--");
  return words;
}

std::vector<std::string> mpiexec_words(const BatchJob& job, const std::string& ranks) {
  std::vector<std::string> words = {"mpiexec"};
  if (job.options.scheduler == Scheduler::kPbs) words.push_back(flag("-f", "\"$PBS_NODEFILE\""));
  words.push_back(flag("-n", ranks));
  words.push_back(flag("-ppn", job.ranks_per_node));
  words.push_back(flag("-bind-to", fmt::format("core:{}", job.cores_per_rank)));
  return words;
}

std::vector<std::string> pals_words(const BatchJob& job, const std::string& ranks) {
  return {"mpiexec", flag("-n", ranks), flag("--ppn", job.ranks_per_node), flag("--depth", job.cpus_per_rank),
          flag("--cpu-bind", "depth")};
}

std::vector<std::string> aprun_words(const BatchJob& job, const std::string& ranks) {
  std::vector<std::string> words = {"aprun", flag("-n", ranks), flag("-N", job.ranks_per_node)};
  words.push_back(flag("-d", job.cpus_per_rank));
  words.push_back(flag("-j", job.options.threads_per_core));
  words.push_back(flag("-cc", "depth"));
  words.push_back(flag("-e", "WORLD_SIZE=" + ranks));
  for (const std::string& variable : variables(job)) words.push_back(flag("-e", variable));
  return words;
}

std::vector<std::string> start_words(const BatchJob& job, const std::string& ranks) {
  switch (job.starter) {
    case Starter::kSrun:  // a rank that fails must not leave the others waiting until the time limit
      return {"srun", "--cpus-per-task=\"$SLURM_CPUS_PER_TASK\"", "--cpu-bind=cores", "--wait=300"};
    case Starter::kMpiexec:
      return mpiexec_words(job, ranks);
    case Starter::kPals:
      return pals_words(job, ranks);
    case Starter::kAprun:
      return aprun_words(job, ranks);
    case Starter::kRun:
      break;
  }
  return run_words(job);
}

}  // namespace

std::vector<std::string> variables(const BatchJob& job) {
  const SubmitOptions& options = job.options;
  std::vector<std::string> result;
  if (job.starter != Starter::kRun) {  // which sets these itself
    result.push_back(fmt::format("OMP_NUM_THREADS={}", *options.threads));
    result.emplace_back("KMP_BLOCKTIME=0");
    if (options.cores_for_comm > 0) {
      result.push_back(fmt::format("LOCKSTEP_CORES_FOR_COMM={}", options.cores_for_comm));
    }
  }
  for (const auto& [name, value] : options.environment) result.push_back(fmt::format("{}={}", name, quote(value)));
  return result;
}

Command start_command(const BatchJob& job, const std::string& ranks) {
  return {start_words(job, ranks), quote(job.options.command)};
}

}  // namespace lockstep::launch

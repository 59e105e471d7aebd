#include "batch_job.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::launch {
namespace {

void need_range(const char* flag, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw UsageError({.message = fmt::format("{} makes no sense", flag),
                    .found = std::to_string(value),
                    .expected = fmt::format("{} to {}", least, most)});
}

// A scheduler reads its options from lines of comment, without a shell's quotes.
void need_word(const char* flag, const std::string& value) {
  const bool odd = std::any_of(value.begin(), value.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7F ||
           std::string_view("\"'`\\#").find(c) != std::string::npos;
  });
  if (odd) {
    throw UsageError({.message = fmt::format("{} cannot stand in a batch script", flag),
                      .found = value,
                      .expected = "one word without blanks, quotes, backslashes and #"});
  }
}

// A job's name is its script's name too, where it submits that again.
void need_file_name(const std::string& name) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("._-").find(c) != std::string::npos;
  };
  if (std::all_of(name.begin(), name.end(), fits) && !name.starts_with('-') && !name.starts_with('.')) return;
  throw UsageError({.message = "--name is no name of a job",
                    .found = name,
                    .expected = "letters, digits, and . _ - behind the first"});
}

bool is_variable(const std::string& text) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), letter);
}

void check_numbers(const SubmitOptions& options, int ranks_per_node) {
  need_range("--nodes", options.nodes, 1, 100'000);
  need_range("--ranks-per-node", ranks_per_node, 1, 4096);
  need_range("--gpus-per-node", options.gpus_per_node, 0, 64);
  need_range("--threads", options.threads.value_or(1), 1, 4096);
  need_range("--threads-per-core", options.threads_per_core, 1, 8);
  need_range("--cores-for-comm", options.cores_for_comm, 0, 1024);
  need_range("--requeues", options.requeues, 0, 10'000);
  if (options.gpus_per_node > 0 && options.gpus_per_node != ranks_per_node) {
    throw UsageError({.message = "each GPU has one rank",
                      .found = fmt::format("{} GPUs and {} ranks on a node", options.gpus_per_node, ranks_per_node),
                      .next = "leave --ranks-per-node out: it is the number of GPUs"});
  }
}

void check_time(const SubmitOptions& options) {
  if (options.time.count() < 1) throw UsageError({.message = "a job needs a time limit", .next = "--time 1:30:00"});
  need_range("--signal-ahead", options.signal_ahead.count(), 1, 65'535);  // what Slurm takes
  if (options.signal_ahead >= options.time) {
    throw UsageError({.message = "the signal would come before the job has begun",
                      .found = fmt::format("--signal-ahead {} and a time limit of {} s", options.signal_ahead.count(),
                                           options.time.count()),
                      .expected = "a signal some time before the limit"});
  }
}

void check_words(const SubmitOptions& options) {
  need_file_name(options.name);
  need_word("--account", options.account);
  need_word("--queue", options.queue);
  need_word("--constraint", options.constraint);
  need_word("--qos", options.qos);
  need_word("--output", options.output);
  if (!options.qos.empty() && options.scheduler != Scheduler::kSlurm) {
    throw UsageError({.message = "only Slurm has a --qos", .next = "name the queue with --queue"});
  }
  for (const auto& [name, value] : options.environment) {
    if (!is_variable(name)) {
      throw UsageError({.message = "this is no name of a variable", .found = name, .expected = "-e NAME=VALUE"});
    }
  }
}

Starter default_starter(const SubmitOptions& options) {
  if (options.gpus_per_node > 0) return Starter::kRun;
  if (options.scheduler == Scheduler::kSlurm) return Starter::kSrun;
  return options.scheduler == Scheduler::kPbs ? Starter::kMpiexec : Starter::kAprun;
}

void check_starter(const SubmitOptions& options, Starter starter) {
  const bool slurm = options.scheduler == Scheduler::kSlurm;
  if ((starter == Starter::kSrun && !slurm) || (starter == Starter::kAprun && slurm)) {
    throw UsageError({.message = starter == Starter::kSrun ? "srun starts ranks in Slurm alone"
                                                           : "Slurm has srun where others have aprun",
                      .next = "leave --start out, or take --start run"});
  }
  if (starter != Starter::kRun && !options.threads) {
    throw UsageError(
        {.message = "how many threads a rank has is not known here",
         .next = "--threads N: the cores of a node divided by its ranks; or --start run, which finds out"});
  }
}

// After the file, for `lockstep train`, or after the program.
std::string default_name(const std::vector<std::string>& command) {
  const bool train = command.size() > 2 && command[0] == "lockstep" && command[1] == "train";
  std::string name = std::filesystem::path(command[train ? 2 : 0]).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; },
      '-');
  return name.empty() || std::isalpha(static_cast<unsigned char>(name[0])) == 0 ? "job-" + name : name;
}

}  // namespace

BatchJob plan(const SubmitOptions& options) {
  if (options.command.empty()) {
    throw UsageError(
        {.message = "nothing to run", .next = "lockstep submit CONFIG, or lockstep submit ... -- PROGRAM"});
  }
  BatchJob job{.options = options,
               .name = options.name.empty() ? default_name(options.command) : options.name,
               .starter = options.starter.value_or(default_starter(options)),
               .ranks_per_node = options.ranks_per_node.value_or(std::max(1, options.gpus_per_node))};
  check_numbers(options, job.ranks_per_node);
  check_time(options);
  check_words(options);
  check_starter(options, job.starter);
  if (options.threads) {
    const int computing = (*options.threads + options.threads_per_core - 1) / options.threads_per_core;
    job.cores_per_rank = computing + options.cores_for_comm;
    job.cpus_per_rank = job.cores_per_rank * options.threads_per_core;
  }
  return job;
}

}  // namespace lockstep::launch

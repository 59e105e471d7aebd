// Batch scripts for Slurm, PBS and Cobalt, such as a careful person would write by hand.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::launch {

enum class Scheduler { kSlurm, kPbs, kCobalt };

// Who starts the ranks inside the allocation: the scheduler's own command, MPICH's or Cray's mpiexec, or `lockstep run`
// with one process on each node that starts the node's ranks.
enum class Starter { kSrun, kMpiexec, kPals, kAprun, kRun };

struct SubmitOptions {
  Scheduler scheduler = Scheduler::kSlurm;
  std::optional<Starter> starter;    // else `run` for GPUs, and srun, mpiexec or aprun for CPUs
  std::vector<std::string> command;  // what each rank runs; every word arrives there unchanged
  std::string name;                  // of the job; empty: after the program
  int nodes = 1;
  std::chrono::seconds time{0};
  std::optional<int> ranks_per_node;  // else one for each GPU, or one
  int gpus_per_node = 0;
  // The cores of a rank: `threads` compute, `threads_per_core` on each core; `cores_for_comm` more are left to
  // communication. `lockstep run` finds the number of threads out by itself.
  std::optional<int> threads;
  int threads_per_core = 1;
  int cores_for_comm = 0;
  std::string account, queue, constraint, qos, output;           // as the scheduler knows them; empty: its default
  std::vector<std::string> modules;                              // loaded in this order
  std::vector<std::pair<std::string, std::string>> environment;  // set for the ranks
  // USR1 reaches the ranks so long before the time limit. A program that then exits with 75 has left a checkpoint, and
  // is put back into the queue, at most `requeues` times.
  std::chrono::seconds signal_ahead{120};
  int requeues = 20;
};

// The scheduler by its name: slurm, pbs, cobalt; without a name, the one whose commands are in PATH. Throws UsageError
// for another name, and when none or several are there.
Scheduler find_scheduler(const std::string& name);

// srun, mpiexec, pals, aprun or run.
Starter find_starter(const std::string& name);

// 30 (minutes), 45s, 30m, 90min, 2h, 1:30:00, 2-00:00:00. Throws UsageError for what is none of these.
std::chrono::seconds parse_job_time(const std::string& text);

// The whole script. Throws UsageError for options that contradict one another or that the scheduler does not have.
std::string batch_script(const SubmitOptions& options);

// Hands the script to sbatch or qsub and returns the job's number. PBS and Cobalt get it as a file in the working
// directory, which the job submits again when it was stopped; one that is there with another content is an error.
std::string submit(const SubmitOptions& options);

}  // namespace lockstep::launch

// What a batch script says, for each scheduler.
#include <lockstep/launch/submit.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "command.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

SubmitOptions options(Scheduler scheduler) {
  return {.scheduler = scheduler,
          .command = {"train", "a b", "it's $5\n"},
          .nodes = 2,
          .time = 90min,
          .ranks_per_node = 2,
          .threads = 14};
}

TEST(JobTime, ReadsWhatPeopleWrite) {
  const std::pair<const char*, std::chrono::seconds> times[] = {
      {"30", 30min}, {"30m", 30min},     {"90min", 90min},    {"45s", 45s},        {"2h", 2h},
      {"2d", 48h},   {"1:30:00", 90min}, {"2-00:00:00", 48h}, {"100:00:00", 100h}, {"1-12:30:15", 36h + 30min + 15s}};
  for (const auto& [text, time] : times) EXPECT_EQ(parse_job_time(text), time) << text;
}

TEST(JobTime, RefusesTheRest) {
  for (const char* text : {"", "0", "-5", "1:30", "1:60:00", "1:2:3:4", "1.5h", "soon", "99999999999999999999", "400d",
                           "1-", "-1:00:00", "5 m", "1:-3:00"}) {
    EXPECT_THROW(parse_job_time(text), UsageError) << text;
  }
}

TEST(Slurm, AsksForCoresAndStartsATaskForEachRank) {
  SubmitOptions job = options(Scheduler::kSlurm);
  job.cores_for_comm = 2;
  job.constraint = "knl,quad,cache";
  job.time = 48h;
  EXPECT_THAT(batch_script(job),
              AllOf(HasSubstr("#SBATCH --ntasks-per-node=2\n#SBATCH --cpus-per-task=16\n"),
                    HasSubstr("#SBATCH --constraint=knl,quad,cache\n"), HasSubstr("#SBATCH --time=2-00:00:00\n"),
                    HasSubstr("#SBATCH --signal=B:USR1@120\n#SBATCH --requeue\n"),
                    HasSubstr("export OMP_NUM_THREADS=14\n"), HasSubstr("\nsrun --cpus-per-task=")));
}

TEST(Slurm, GivesEachNodeOneTaskThatStartsARankForEachGpu) {
  SubmitOptions job = options(Scheduler::kSlurm);
  job.ranks_per_node = std::nullopt;
  job.threads = std::nullopt;
  job.gpus_per_node = 8;
  EXPECT_THAT(batch_script(job),
              AllOf(HasSubstr("#SBATCH --ntasks-per-node=1\n#SBATCH --exclusive\n#SBATCH --gpus-per-node=8\n"),
                    HasSubstr("\nlockstep run --ranks-per-node 8 -- train")));
}

TEST(Slurm, StaysStoppedWhenItShall) {
  SubmitOptions job = options(Scheduler::kSlurm);
  job.requeues = 0;
  EXPECT_THAT(batch_script(job), AllOf(HasSubstr("#SBATCH --no-requeue\n"), Not(HasSubstr("scontrol"))));
}

TEST(Pbs, SelectsNodesAndBindsRanksToTheirCores) {
  SubmitOptions job = options(Scheduler::kPbs);
  job.cores_for_comm = 2;
  job.time = 48h;
  EXPECT_THAT(batch_script(job), AllOf(HasSubstr("#PBS -l select=2:ncpus=32:mpiprocs=2\n"),
                                       HasSubstr("#PBS -l walltime=48:00:00\n"), HasSubstr("-bind-to core:16")));
}

TEST(Cobalt, TellsAprunHowManyRanksThereAre) {
  SubmitOptions job = options(Scheduler::kCobalt);
  job.ranks_per_node = 4;
  job.threads = 32;
  job.threads_per_core = 2;
  EXPECT_THAT(batch_script(job), AllOf(HasSubstr("#COBALT -t 90\n"), HasSubstr("ranks=$((COBALT_JOBSIZE * 4))\n"),
                                       HasSubstr("-N 4 -d 32 -j 2 -cc depth -e WORLD_SIZE=\"$ranks\"")));
}

TEST(BatchScript, IsCleanForEverySchedulerAndStarter) {
  const test::TemporaryFolder folder;
  const std::pair<Scheduler, std::vector<Starter>> shapes[] = {
      {Scheduler::kSlurm, {Starter::kSrun, Starter::kMpiexec, Starter::kRun}},
      {Scheduler::kPbs, {Starter::kMpiexec, Starter::kPals, Starter::kAprun, Starter::kRun}},
      {Scheduler::kCobalt, {Starter::kAprun, Starter::kMpiexec, Starter::kRun}}};
  std::vector<std::string> files;
  for (const auto& [scheduler, starters] : shapes) {
    for (const Starter starter : starters) {
      SubmitOptions job = options(scheduler);
      job.starter = starter;
      job.modules = {"lockstep/0.1", "odd name"};
      job.environment = {{"NAME", "a 'b' $c"}};
      files.push_back(folder.write(std::to_string(files.size()), batch_script(job)).string());
      EXPECT_EQ(test::run_command({"bash", "-n", files.back()}).err, "");
      job.requeues = 0;
      files.push_back(folder.write(std::to_string(files.size()), batch_script(job)).string());
    }
  }
  files.insert(files.begin(), "shellcheck");
  const test::CommandResult result = test::run_command(files);
  EXPECT_EQ(result.exit_code, 0) << result.out;
}

TEST(BatchScript, RefusesWhatMakesNoSense) {
  const auto refuses = [](auto&& change, const char* message) {
    SubmitOptions job = options(Scheduler::kSlurm);
    change(job);
    EXPECT_THAT([&] { batch_script(job); }, test::ThrowsWith<UsageError>(message)) << message;
  };
  refuses([](SubmitOptions& job) { job.nodes = 0; }, "--nodes");
  refuses([](SubmitOptions& job) { job.command.clear(); }, "nothing to run");
  refuses([](SubmitOptions& job) { job.time = 0s; }, "time limit");
  refuses([](SubmitOptions& job) { job.gpus_per_node = 8; }, "8 GPUs and 2 ranks");
  refuses([](SubmitOptions& job) { job.signal_ahead = 90min; }, "--signal-ahead 5400");
  refuses([](SubmitOptions& job) { job.threads = std::nullopt; }, "--threads");
  refuses([](SubmitOptions& job) { job.threads = 0; }, "--threads");
  refuses([](SubmitOptions& job) { job.starter = Starter::kAprun; }, "srun");
  refuses([](SubmitOptions& job) { job.account = "a\n#SBATCH --nodes=9"; }, "--account");
  refuses([](SubmitOptions& job) { job.name = "net;rm"; }, "--name");
  refuses([](SubmitOptions& job) { job.name = "../net"; }, "--name");
  refuses([](SubmitOptions& job) { job.environment = {{"A B", ""}}; }, "A B");
  refuses([](SubmitOptions& job) { (job.scheduler = Scheduler::kPbs), job.qos = "high"; }, "--qos");
}

}  // namespace
}  // namespace lockstep::launch

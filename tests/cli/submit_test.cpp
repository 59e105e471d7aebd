// lockstep submit as a user meets it. The qsub and the PBS in here are made up: Debian has no PBS and no Cobalt.
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/text.h>

#include "command.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A folder to work in, whose bin/ stands before everything else in PATH.
class Submit : public ::testing::Test {
 protected:
  Submit() { std::filesystem::create_directory(folder_.path() / "bin"); }

  std::filesystem::path program(const std::string& name, const std::string& script) const {
    auto path = folder_.write(name, "#!/bin/bash\n" + script);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

  // Runs `line` in that folder, by bash.
  CommandResult shell(const std::string& line, std::map<std::string, std::string> environment = {}) const {
    const std::string path = env::get("PATH").value_or("");
    environment.try_emplace("PATH", (folder_.path() / "bin").string() + ":" + program_path("") + ":" + path);
    return run_command({"/bin/bash", "-c", "cd " + folder_.path().string() + " && " + line},
                       {.environment = environment});
  }

  TemporaryFolder folder_;
};

const std::string kJob = "lockstep submit --scheduler slurm --nodes 2 --time 1:30:00 --threads 4 ";

TEST_F(Submit, PrintsAScriptForAConfigWithItsWholePath) {
  folder_.write("net.yaml", "");
  const CommandResult result = shell(kJob + "net.yaml:large");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(StartsWith("#!/bin/bash\n#SBATCH --job-name=net\n"),
                                HasSubstr("lockstep train " + (folder_.path() / "net.yaml:large").string())));
}

TEST_F(Submit, TakesAProgramBehindTwoDashes) {
  EXPECT_THAT(shell(kJob + "-- python3 train.py 'a b'").out, HasSubstr(" python3 train.py 'a b' &\n"));
}

TEST_F(Submit, ExplainsMistakesInOneMessage) {
  folder_.write("net.yaml", "");
  const auto error = [&](const std::string& line) {
    const CommandResult result = shell(line);
    EXPECT_EQ(result.exit_code, 2) << line;
    EXPECT_THAT(result.out, IsEmpty()) << line;
    return result.err;
  };
  EXPECT_THAT(error("lockstep submit net.yaml --nodes 2"), HasSubstr("--time"));
  EXPECT_THAT(error(kJob + "missing.yaml"), HasSubstr("missing.yaml"));
  EXPECT_THAT(error(kJob), HasSubstr("nothing to run"));
  EXPECT_THAT(error(kJob + "net.yaml -- true"), HasSubstr("one too many"));
  EXPECT_THAT(error("lockstep submit --scheduler slurm --nodes 2 --time 1:30 net.yaml"), HasSubstr("1:30:00"));
  EXPECT_THAT(error(kJob + "-e A net.yaml"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(error("lockstep submit net.yaml --scheduler slrum --nodes 2 --time 5"),
              HasSubstr("did you mean 'slurm'?"));
  EXPECT_THAT(error("lockstep submit net.yaml --scheduler pbs --start srun --nodes 2 --time 5"), HasSubstr("srun"));
  EXPECT_THAT(error(kJob + "--start srnu net.yaml"), HasSubstr("did you mean 'srun'?"));
  EXPECT_THAT(error("lockstep submit --scheduler slurm --nodes 0 --time 5 --threads 1 net.yaml"), HasSubstr("--nodes"));
}

TEST_F(Submit, TakesTheSchedulerWhoseCommandIsInPath) {
  const std::string bin = (folder_.path() / "bin").string();
  const std::string line = program_path("lockstep") + " submit --nodes 1 --time 5 --start run -- true";
  EXPECT_THAT(shell(line, {{"PATH", bin}}).err, HasSubstr("no scheduler was found"));
  program("bin/pbsnodes", "");
  EXPECT_THAT(shell(line, {{"PATH", bin}}).out, HasSubstr("#PBS -N true\n"));
  program("bin/sbatch", "");
  EXPECT_THAT(shell(line, {{"PATH", bin}}).err, HasSubstr("sbatch and pbsnodes are in PATH"));
}

TEST_F(Submit, Now_GivesSbatchTheScriptAndPrintsTheNumber) {
  program("bin/sbatch", "echo \"$@\" >words; cat >script; echo 'a greeting'; echo 42");
  const CommandResult result = shell(kJob + "--now -- true");
  EXPECT_EQ(result.out, "42\n") << result.err;
  EXPECT_EQ(content(folder_.path() / "words"), "--parsable\n");
  EXPECT_EQ(content(folder_.path() / "script"), shell(kJob + "-- true").out);
}

TEST_F(Submit, Now_PassesOnThatItWasRefused) {
  program("bin/sbatch", "echo 'no such partition' >&2; exit 1");
  const CommandResult result = shell(kJob + "--now -- true");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no such partition\n"), HasSubstr("sbatch did not take the job")));
}

TEST_F(Submit, Now_KeepsTheFileThatQsubGetsAndNeverOverwritesAnother) {
  program("bin/qsub", "echo \"17 $*\"");
  const std::string line = "lockstep submit --scheduler cobalt --nodes 2 --time 5 --threads 4 --name net --now -- true";
  EXPECT_EQ(shell(line).out, "17 net.cobalt\n");
  struct stat file {};
  ASSERT_EQ(::stat((folder_.path() / "net.cobalt").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0700U);
  EXPECT_EQ(shell(line).exit_code, 0);
  folder_.write("net.cobalt", "changed by hand");
  const CommandResult refused = shell(line);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("net.cobalt"));
  EXPECT_EQ(content(folder_.path() / "net.cobalt"), "changed by hand");
}

TEST_F(Submit, AJobComesBackOnlySoOften) {
  program("bin/srun", "exit 75");
  program("bin/scontrol", "echo \"$*\" >>requeued");
  ASSERT_EQ(shell(kJob + "--requeues 3 -- true >job").exit_code, 0);
  for (const char* restarts : {"2", "3"}) {
    const CommandResult result =
        shell("bash job", {{"SLURM_CPUS_PER_TASK", "4"}, {"SLURM_JOB_ID", "42"}, {"SLURM_RESTART_COUNT", restarts}});
    EXPECT_EQ(result.exit_code, 75) << result.err;
  }
  EXPECT_EQ(content(folder_.path() / "requeued"), "requeue 42\n");
}

// The script for PBS under a real Hydra, in an environment such as PBS documents it.
class UnderHydra : public Submit {
 protected:
  UnderHydra() {
    program("bin/mpiexec", "exec mpiexec.hydra \"$@\"");  // Debian's plain name may be another MPI's
    program("bin/qsub", "echo \"$*\" >submitted");
    folder_.write("nodes", "localhost\nlocalhost\n");
  }

  CommandResult run_script(const std::string& options, const std::string& command) const {
    const CommandResult script = shell("lockstep submit --scheduler pbs --nodes 1 --ranks-per-node 2 --threads 1 " +
                                       options + " -- " + command + " >job.pbs");
    EXPECT_EQ(script.exit_code, 0) << script.err;
    return shell("bash job.pbs", {{"PBS_NODEFILE", (folder_.path() / "nodes").string()},
                                  {"PBS_O_WORKDIR", folder_.path().string()},
                                  {"PBS_JOBID", "7.here"}});
  }
};

TEST_F(UnderHydra, RanksFindTheirPlaceAndTheirArguments) {
  program("rank", "lockstep info | grep 'rank [01] of 2' && printf '[%s]' \"$@\"");
  const CommandResult result = run_script("--time 5", "./rank 'a b' '$HOME' \"it's\"");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("rank 0 of 2"), HasSubstr("rank 1 of 2"), HasSubstr("[a b][$HOME][it's]")));
}

TEST_F(UnderHydra, EachRankHasCoresOfItsOwn) {
  program("rank", "grep Cpus_allowed_list: /proc/self/status");
  std::set<std::string> places;
  for (const std::string& line : split(run_script("--time 5", "./rank").out, '\n')) {
    if (!line.empty()) places.insert(line);
  }
  EXPECT_EQ(places.size(), std::min(2U, std::thread::hardware_concurrency()));
}

TEST_F(UnderHydra, AJobThatStopsAheadOfItsTimeIsSubmittedAgain) {
  program("rank", "trap 'exit 75' USR1\nwhile :; do sleep 0.1; done");
  const CommandResult result = run_script("--time 124s --signal-ahead 120 --name net", "./rank");
  EXPECT_EQ(result.exit_code, 75) << result.err;
  EXPECT_EQ(content(folder_.path() / "submitted"), "-v LOCKSTEP_RESTARTS=1 net.pbs\n");
}

TEST_F(UnderHydra, AJobThatFailsIsNot) {
  program("rank", "exit 3");
  EXPECT_EQ(run_script("--time 5", "./rank").exit_code, 3);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "submitted"));
}

}  // namespace
}  // namespace lockstep::test

// Many jobs one after another, and one job that is started again many times: nothing grows.
#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "running_job.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;

// What Lockstep could have left in shared memory.
std::set<std::string> shared_memory() {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
    if (const std::string name = file.path().filename(); name.find("lockstep") != std::string::npos) names.insert(name);
  }
  return names;
}

TEST(Cycles, AThousandStartsAndStops_LeaveNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const std::set<std::string> before = shared_memory();
  const CommandResult result = run_command(
      {"sh", "-c", "seq 1000 | xargs -P 4 -I{} '" + program_path("lockstep") + "' run -n 2 -- echo {}"},
      {.environment = {{"TMPDIR", path}, {"HOME", path}, {"XDG_RUNTIME_DIR", path}, {"LOCKSTEP_TEST_CYCLES", path}},
       .limit = 110s});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2000);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(processes_with("LOCKSTEP_TEST_CYCLES=" + path), ::testing::IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(shared_memory(), before);
}

// Rank 0 counts the descriptors and children of its launcher when rank 1 is there.
TEST_F(RunningJob, AHundredRestarts_KeepNoDescriptorAndNoProcess) {
  launcher_.emplace(
      run_words({"-n", "2", "--max-restarts", "100", "--output", "first"},
                script("here=$MARKS/attempt.$TORCHELASTIC_RESTART_COUNT; "
                       "test $RANK = 1 && { : > $here; exec sleep 1000; }; "
                       "until test -e $here; do sleep 0.01; done; "
                       "set -- /proc/$PPID/fd/* $(cat /proc/$PPID/task/$PPID/children); echo $#; exit 3")),
      Environment{{"MARKS", marks_.folder().string()}});
  EXPECT_EQ(launcher_->wait(2 * kSoon), 3) << launcher_->err();
  std::istringstream numbers(launcher_->out());
  const std::vector<int> counts{std::istream_iterator<int>(numbers), {}};
  ASSERT_EQ(counts.size(), 101U);
  // The least of them: the launcher may be in the middle of something when it is looked at.
  EXPECT_EQ(*std::min_element(counts.begin(), counts.begin() + 50),
            *std::min_element(counts.begin() + 50, counts.end()));
}

}  // namespace
}  // namespace lockstep::test

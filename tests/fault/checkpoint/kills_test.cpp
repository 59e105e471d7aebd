// A process that writes and removes checkpoints is killed at random moments, and another goes on where it was.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include <lockstep/checkpoint/find.h>
#include <lockstep/checkpoint/keep.h>

#include "full_set.h"
#include "small_checkpoint.h"
#include "temporary_folder.h"

namespace lockstep::test {
namespace {

constexpr std::size_t kElements = 100'000;  // 800 kB: writing takes most of the time

// Writes one checkpoint after another, and tells of each through `pipe` once it is committed.
[[noreturn]] void write_for_ever(const std::filesystem::path& checkpoints, std::int64_t step, int pipe) {
  try {
    for (;; ++step) {
      write_small(checkpoints, step, kElements);
      if (::write(pipe, &step, sizeof(step)) != sizeof(step)) break;
      checkpoint::prune(checkpoints, {.last = 2});
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
  ::_exit(1);
}

// The last step that was told of before the pipe's other end was closed.
std::int64_t last_told(int pipe) {
  std::int64_t step = -1, told = -1;
  while (::read(pipe, &step, sizeof(step)) == sizeof(step)) told = step;
  return told;
}

TEST(KilledWriter, TheNewestCommittedOneAlwaysLoads) {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  const TemporaryFolder folder;
  const auto checkpoints = folder.path() / "checkpoints";
  std::int64_t committed = 1;
  write_small(checkpoints, committed, kElements);
  const int kills = full_set() ? 200 : 20;
  int leftovers = 0;
  for (int kill = 0; kill < kills; ++kill) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_for_ever(checkpoints, committed + 1, ends[1]);
    ::close(ends[1]);
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution(0, 100'000)(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
    committed = std::max(committed, last_told(ends[0]));
    ::close(ends[0]);

    for (const auto& entry : std::filesystem::directory_iterator(checkpoints)) {
      leftovers += entry.path().filename().string().front() == '.' ? 1 : 0;
    }
    const checkpoint::NewestGood newest = checkpoint::newest_good(checkpoints);
    ASSERT_TRUE(newest.passed_over.empty()) << newest.passed_over.front().why;
    ASSERT_TRUE(newest.checkpoint);
    // One may be there that the child did not come to tell of.
    ASSERT_GE(newest.checkpoint->manifest().step, committed);
    ASSERT_LE(newest.checkpoint->manifest().step, committed + 1);
    ASSERT_TRUE(is_small(*newest.checkpoint, kElements));
    committed = newest.checkpoint->manifest().step;
  }
  std::cout << kills << " kills, " << leftovers << " leftovers, " << committed << " checkpoints\n";
  EXPECT_GT(leftovers, 0) << "no kill met a writer at work";
  write_small(checkpoints, committed + 1, kElements);
  for (const auto& entry : std::filesystem::directory_iterator(checkpoints)) {
    EXPECT_NE(entry.path().filename().string().front(), '.') << entry.path();
  }
}

}  // namespace
}  // namespace lockstep::test

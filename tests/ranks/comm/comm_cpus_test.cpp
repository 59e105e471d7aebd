// Threads that move data run on the cores for communication, and nothing else does. Started with --cores-for-comm 1.
#include <filesystem>
#include <fstream>

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include <lockstep/base/environment.h>

#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

std::string first_line(const std::filesystem::path& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

std::string allowed_cpus(const std::filesystem::path& task) {
  const std::string key = "Cpus_allowed_list:\t";
  std::ifstream status(task / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return line.substr(key.size());
  }
  return "";
}

// The names of this process's threads by the cpus that they may run on.
std::multimap<std::string, std::string> threads_by_cpus() {
  std::multimap<std::string, std::string> threads;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.emplace(allowed_cpus(task.path()), first_line(task.path() / "comm"));
  }
  return threads;
}

TEST(CoresForCommunication, AreWhereDataIsMoved) {
  at::Tensor value = at::ones({1000});
  world().all_reduce_async(value).wait();
  EXPECT_EQ(value[0].item<float>(), world().size());
  const std::string for_comm = env::get("LOCKSTEP_COMM_CPUS").value_or("not set");
  const auto threads = threads_by_cpus();
  const std::map<std::string, std::string> mover = {{"local", "ls-local"}, {"ccl", "ls-ccl-worker"}};
  const auto known = mover.find(world().backend());
  if (known != mover.end()) {
    EXPECT_THAT(threads, Contains(Pair(for_comm, known->second)));
  } else {
    EXPECT_THAT(threads, Contains(Key(for_comm)));  // Gloo's have no names
  }
}

TEST(CoresForCommunication, AreNotWhereTheRankComputes) {
  const std::string for_comm = env::get("LOCKSTEP_COMM_CPUS").value_or("not set");
  EXPECT_NE(allowed_cpus("/proc/self"), for_comm);
  EXPECT_THAT(threads_by_cpus(), Not(Contains(Pair(for_comm, "ls-monitor"))));
}

}  // namespace
}  // namespace lockstep::test

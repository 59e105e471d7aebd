// A connection that can no longer be written to: what is under way fails, and the process lives to say so.
#include <sys/socket.h>

#include <filesystem>
#include <set>
#include <string>

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <lockstep/base/errors.h>

#include "world.h"

namespace lockstep::test {
namespace {

std::set<int> open_files() {
  std::set<int> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    files.insert(std::stoi(entry.path().filename()));
  }
  return files;
}

// A group with connections of its own, which this rank can read from but not write to.
Group make_broken_group() {
  const std::set<int> before = open_files();
  Group group = world().duplicate();
  const at::Tensor value = at::ones({1});
  group.all_reduce(value);  // every connection is there now
  world().barrier();
  int broken = 0;
  for (const int file : open_files()) {
    if (!before.contains(file) && ::shutdown(file, SHUT_WR) == 0) ++broken;
  }
  EXPECT_GE(broken, 1);
  return group;
}

TEST(BrokenConnection, EndsACollectiveWithAnErrorAndNoSignal) {
  const Group group = make_broken_group();
  const at::Tensor value = at::ones({1000});
  EXPECT_THROW(group.all_reduce(value), RuntimeError);
}

TEST(BrokenConnection, EndsAMessageWithAnErrorAndNoSignal) {
  const Group group = make_broken_group();
  const at::Tensor value = at::ones({1000});
  EXPECT_THROW(group.send(value, 1 - group.rank()), RuntimeError);
}

TEST(BrokenConnection, LeavesOtherGroupsWhole) {
  const at::Tensor value = at::ones({1000});
  world().all_reduce(value);
  EXPECT_EQ(value[0].item<float>(), world().size());
}

}  // namespace
}  // namespace lockstep::test

#include "train/available_memory.h"

#include <gmock/gmock.h>

#include "temporary_folder.h"

namespace lockstep::test {
namespace {

class AvailableMemory : public ::testing::Test {
 protected:
  AvailableMemory() { std::filesystem::create_directories(folder.path() / "groups/job/step"); }

  std::uint64_t available() const {
    return train::available_memory({.system = folder.path() / "meminfo",
                                    .membership = folder.path() / "cgroup",
                                    .groups = folder.path() / "groups"});
  }

  TemporaryFolder folder;
};

TEST_F(AvailableMemory, IsTheLeastThatSystemAndGroupsHaveLeft) {
  EXPECT_EQ(available(), 0U);
  folder.write("meminfo", "MemTotal:       2000 kB\nMemAvailable:   1000 kB\n");
  EXPECT_EQ(available(), 1024'000U);
  folder.write("cgroup", "1:name=systemd:/x\n0::/job/step\n");
  folder.write("groups/job/step/memory.max", "max\n");
  folder.write("groups/job/step/memory.current", "5000\n");
  EXPECT_EQ(available(), 1024'000U);
  folder.write("groups/job/memory.max", "9000\n");
  folder.write("groups/job/memory.current", "8000\n");
  EXPECT_EQ(available(), 1000U);
  folder.write("groups/job/memory.stat", "anon 1000\ninactive_file 6000\n");
  EXPECT_EQ(available(), 7000U);
  folder.write("groups/job/memory.stat", "");
  folder.write("groups/job/memory.current", "9500\n");
  EXPECT_EQ(available(), 1U);
}

}  // namespace
}  // namespace lockstep::test

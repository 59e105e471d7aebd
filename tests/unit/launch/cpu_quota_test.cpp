#include "launch/cpu_quota.h"

#include <gmock/gmock.h>

#include "temporary_folder.h"

namespace lockstep::launch {
namespace {

using ::testing::Optional;

class CpuQuota : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((folder_.path() / file).parent_path());
    folder_.write(file, text);
  }
  std::optional<double> read(const std::string& membership) {
    return read_cpu_quota(folder_.write("membership", membership), folder_.path());
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(CpuQuota, IsTheLowestOnTheWayToTheGroup) {
  write("jobs/cpu.max", "150000 100000\n");
  write("jobs/ours/cpu.max", "max 100000\n");
  EXPECT_THAT(read("0::/jobs/ours\n"), Optional(1.5));
  write("jobs/ours/cpu.max", "50000 100000\n");
  EXPECT_THAT(read("0::/jobs/ours\n"), Optional(0.5));
  EXPECT_EQ(read("0::/other\n"), std::nullopt);
}

TEST_F(CpuQuota, IsFoundInAContainerWhereTheGroupIsTheRoot) {
  write("cpu.max", "200000 100000\n");
  EXPECT_THAT(read("0::/\n"), Optional(2.0));
}

TEST_F(CpuQuota, OfVersionOneIsReadToo) {
  write("cpu/docker/cpu.cfs_quota_us", "-1\n");
  write("cpu/docker/cpu.cfs_period_us", "100000\n");
  const std::string membership = "4:memory:/docker\n3:cpu,cpuacct:/docker\n0::/\n";
  EXPECT_EQ(read(membership), std::nullopt);
  write("cpu/docker/cpu.cfs_quota_us", "300000\n");
  EXPECT_THAT(read(membership), Optional(3.0));
}

TEST_F(CpuQuota, IsNoneWhereNothingIsToBeRead) {
  EXPECT_EQ(read("nonsense\n"), std::nullopt);
  EXPECT_EQ(read_cpu_quota("/no/such/file", "/no/such/folder"), std::nullopt);
}

}  // namespace
}  // namespace lockstep::launch

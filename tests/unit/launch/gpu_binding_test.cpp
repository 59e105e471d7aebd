// A rank's cores are next to its GPU.
#include "launch/gpu_locality.h"
#include "machines.h"
#include "temporary_folder.h"

namespace lockstep::launch {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

// A machine whose GPU i is on NUMA node nodes[i].
Machine with_gpus(const char* synthetic, const std::vector<int>& nodes) {
  Machine result = machine(synthetic);
  for (const int node : nodes) {
    NearGpu gpu;
    for (const Core& core : result.cores) {
      if (core.numa_node == node) gpu.cpus.insert(gpu.cpus.end(), core.cpus.begin(), core.cpus.end());
    }
    result.gpus.push_back(std::move(gpu));
  }
  return result;
}

// As on a machine of eight GPUs where the first two are next to node 3.
TEST(BindingBesideGpus, OnEightNodes_FollowsTheGpus) {
  const NodeBinding binding = plan_binding(with_gpus(kEightNodes, {3, 3, 1, 1, 7, 7, 5, 5}), 8, {});
  EXPECT_EQ(binding.kind, kCore);
  EXPECT_THAT(cpus(binding), ElementsAre("48-55", "56-63", "16-23", "24-31", "112-119", "120-127", "80-87", "88-95"));
  EXPECT_THAT(binding.ranks[7].gpu, Optional(7));
  EXPECT_THAT(threads(binding), Each(8));
}

TEST(BindingBesideGpus, OnTwoNodes_DividesEachNode) {
  const Machine there = with_gpus(kTwoTimes28, {0, 0, 0, 0, 1, 1, 1, 1});
  EXPECT_THAT(cpus(plan_binding(there, 8, {})),
              ElementsAre("0-6", "7-13", "14-20", "21-27", "28-34", "35-41", "42-48", "49-55"));
  EXPECT_THAT(cpus(plan_binding(there, 5, {.bind = {BindKind::kNuma}})),
              ElementsAre("0-27", "0-27", "0-27", "0-27", "28-55"));
  EXPECT_THAT(cpus(plan_binding(with_gpus(kTwoTimes28, {1}), 1, {.bind = {BindKind::kSocket}})), ElementsAre("28-55"));
}

TEST(BindingBesideGpus, ThatAreNotAllTaken_LeavesRanksFree) {
  Machine there = with_gpus(kTwoTimes28, {0, 0, 1, 1});
  EXPECT_EQ(plan_binding(there, 2, {}).kind, BindKind::kNone);
  EXPECT_EQ(plan_binding(there, 4, {}).kind, kCore);
  there.hidden_gpus = 4;
  EXPECT_EQ(plan_binding(there, 4, {}).kind, BindKind::kNone);
  EXPECT_THAT(cpus(plan_binding(there, 2, {.bind = {kCore}})), ElementsAre("0-13", "14-27"));
}

TEST(BindingBesideGpus, OfUnknownPlace_SpreadsRanks) {
  Machine there = machine(kTwoTimes28);
  there.gpus.resize(2);
  EXPECT_THAT(cpus(plan_binding(there, 2, {})), ElementsAre("0-27", "28-55"));
}

TEST(BindingBesideGpus, WithoutRoomThere_GoesElsewhere) {
  const Machine there = with_gpus(kTwoTimes28, {0, 0});
  EXPECT_THAT(cpus(plan_binding(there, 2, {.bind = {kCore}, .threads = 20})), ElementsAre("0-19", "28-47"));
}

TEST(BindingBesideGpus, OfMoreRanksThanGpus_TellsOfNone) {
  const NodeBinding binding = plan_binding(with_gpus(kTwoTimes28, {1}), 2, {.bind = {kCore}});
  EXPECT_EQ(binding.ranks[0].gpu, std::nullopt);
  EXPECT_THAT(cpus(binding), ElementsAre("0-27", "28-55"));
}

TEST(GpuLocality, IsReadByTheKernelsNameOfTheDevice) {
  const test::TemporaryFolder devices;
  std::filesystem::create_directory(devices.path() / "0000:1b:00.0");
  devices.write("0000:1b:00.0/local_cpulist", "28-31,84\n");
  EXPECT_THAT(locate_gpu("00000000:1B:00.0", devices.path()).cpus, ElementsAre(28, 29, 30, 31, 84));
  EXPECT_THAT(locate_gpu("00000000:1C:00.0", devices.path()).cpus, IsEmpty());
}

TEST(GpuLocality, FollowsCudaVisibleDevices) {
  const std::vector<NearGpu> all = {{.pci_address = "a"}, {.pci_address = "b"}, {.pci_address = "c"}};
  const auto names = [&](const std::optional<std::string>& variable) {
    std::string text;
    for (const NearGpu& gpu : visible_gpus(all, variable)) text += gpu.pci_address;
    return text;
  };
  EXPECT_EQ(names(std::nullopt), "abc");
  EXPECT_EQ(names("2,0"), "ca");
  EXPECT_EQ(names("1,-1,0"), "b");
  EXPECT_EQ(names(""), "");
  EXPECT_EQ(names("GPU-8932f937"), "");
}

}  // namespace
}  // namespace lockstep::launch

// What is read from the machine itself: CPU, topology, GPUs.
#include <gmock/gmock.h>
#include <sched.h>

#include <lockstep/base/cpu.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/gpus.h>
#include <lockstep/base/topology.h>

#include "scoped_variable.h"
#include "throws_with.h"

namespace lockstep {
namespace {

using test::ThrowsWith;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Cpu, OffersAtLeastTheBuildsBase) {
  EXPECT_GE(cpu::highest_level(), cpu::build_base());
  EXPECT_THAT(cpu::instruction_sets(), Contains("sse4.2"));
  EXPECT_THAT(cpu::model_name(), Not(IsEmpty()));
}

TEST(Cpu, FollowsLibtorchsOwnSwitch) {
  const test::ScopedVariable wish("ATEN_CPU_CAPABILITY", "default");
  EXPECT_EQ(cpu::torch_capability(), "DEFAULT");
}

TEST(Topology, CountsTheCoresThatThisProcessMayUse) {
  const Topology all = read_topology();
  EXPECT_GE(all.cores, 1);
  EXPECT_GE(all.hardware_threads, all.cores);
  EXPECT_THAT(all.numa_nodes, Not(IsEmpty()));

  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(read_topology().usable_cores(), 1);
  ::sched_setaffinity(0, sizeof(before), &before);
}

TEST(Topology, KnowsWhereTheCoresOfADescribedMachineAre) {
  const Topology topology = describe_topology("pack:2 numa:2 core:3 pu:2");
  ASSERT_EQ(topology.usable_cores(), 12);
  EXPECT_THAT(topology.usable[4].cpus, ElementsAre(8, 9));
  EXPECT_EQ(topology.usable[4].numa_node, 1);
  EXPECT_EQ(topology.usable[4].package, 0);
  EXPECT_EQ(topology.usable[11].numa_node, 3);
  EXPECT_EQ(topology.usable[11].package, 1);
  EXPECT_THAT([] { describe_topology("a fast one"); }, ThrowsWith<UsageError>("'a fast one'"));
}

TEST(Gpus, AreListedOrTheirAbsenceIsExplained) {
  const GpuList list = list_gpus();
  EXPECT_EQ(list.gpus.empty(), !list.missing.empty());
}

}  // namespace
}  // namespace lockstep

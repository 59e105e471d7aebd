// Where ranks go on machines that people have.
#include <lockstep/base/errors.h>

#include "machines.h"
#include "throws_with.h"

namespace lockstep::launch {
namespace {

using test::ThrowsWith;
using ::testing::Each;
using ::testing::ElementsAre;

TEST(Binding, OnHaswell_SpreadsRanksOverSocketsInBlocks) {
  const NodeBinding four = plan_binding(machine(kHaswell), 4, {.bind = {kCore}});
  EXPECT_THAT(cpus(four), ElementsAre("0-7", "8-15", "16-23", "24-31"));
  EXPECT_THAT(threads(four), Each(8));
  EXPECT_THAT(four.ranks[2].numa_nodes, ElementsAre(1));
  EXPECT_THAT(cpus(plan_binding(machine(kHaswell), 2, {.bind = {kCore}, .threads = 4})), ElementsAre("0-3", "16-19"));
}

TEST(Binding, OnHaswell_UsesSecondThreadsOfCoresWhenAsked) {
  const NodeBinding binding = plan_binding(machine(kHaswell), 2, {.bind = {kCore}, .threads_per_core = 2});
  EXPECT_THAT(cpus(binding), ElementsAre("0-15,32-47", "16-31,48-63"));
  EXPECT_THAT(threads(binding), Each(32));
}

TEST(Binding, OnKnl68_TakesOneThreadOfAsManyCoresAsAsked) {
  EXPECT_THAT(cpus(plan_binding(machine(kKnl68), 1, {.bind = {kCore}, .threads = 32})), ElementsAre("0-31"));
  EXPECT_THAT(cpus(plan_binding(machine(kKnl68), 1, {.bind = {kCore}, .threads = 68})), ElementsAre("0-67"));
  EXPECT_THAT(cpus(plan_binding(machine(kKnl68), 1, {.bind = {kCore}, .threads = 32, .threads_per_core = 4})),
              ElementsAre("0-7,68-75,136-143,204-211"));
}

// aprun -n 4 -N 4 -j 2 -cc depth -d 32
TEST(Binding, OnKnl64_IsWhatAprunDoes) {
  const BindingOptions options{.bind = {kCore}, .threads = 32, .threads_per_core = 2};
  EXPECT_THAT(cpus(plan_binding(machine(kKnl64), 4, options)),
              ElementsAre("0-15,64-79", "16-31,80-95", "32-47,96-111", "48-63,112-127"));
  const NodeBinding quarters = plan_binding(machine(kKnl64InQuarters), 4, options);
  EXPECT_THAT(quarters.ranks[3].numa_nodes, ElementsAre(3));
}

TEST(Binding, OnKnlInQuarters_GivesFewRanksWholeQuarters) {
  EXPECT_THAT(cpus(plan_binding(machine(kKnl64InQuarters), 2, {.bind = {kCore}})), ElementsAre("0-31", "32-63"));
  EXPECT_THAT(cpus(plan_binding(machine(kKnl64InQuarters), 2, {.bind = {BindKind::kNuma}})),
              ElementsAre("0-31", "32-63"));
  EXPECT_THAT(cpus(plan_binding(machine(kKnl64InQuarters), 1, {.bind = {kCore}})), ElementsAre("0-63"));
}

TEST(Binding, OnTwoTimes28_KeepsFourCoresOfEachSocketForCommunication) {
  const NodeBinding binding =
      plan_binding(machine(kTwoTimes28), 2, {.bind = {kCore}, .threads = 24, .cores_for_comm = 4});
  EXPECT_THAT(cpus(binding), ElementsAre("0-23", "28-51"));
  EXPECT_THAT(comm_cpus(binding), ElementsAre("24-27", "52-55"));
  // They are what is left when --threads is not given.
  EXPECT_THAT(cpus(plan_binding(machine(kTwoTimes28), 2, {.cores_for_comm = 4})), ElementsAre("0-23", "28-51"));
}

TEST(Binding, ByNodeOrSocket_LetsRanksShareIt) {
  for (const BindKind kind : {BindKind::kNuma, BindKind::kSocket}) {
    const NodeBinding binding = plan_binding(machine(kTwoTimes28), 4, {.bind = {kind}, .cores_for_comm = 2});
    EXPECT_THAT(cpus(binding), ElementsAre("0-23", "0-23", "28-51", "28-51"));
    EXPECT_THAT(comm_cpus(binding), ElementsAre("24-25", "26-27", "52-53", "54-55"));
    EXPECT_THAT(threads(binding), Each(12));
  }
  EXPECT_THAT(cpus(plan_binding(machine(kEightNodes), 2, {.bind = {BindKind::kSocket}})),
              ElementsAre("0-63", "64-127"));
}

TEST(Binding, OfMoreRanksThanFitEvenly_NeverStraddlesNodes) {
  EXPECT_THAT(cpus(plan_binding(machine(kTwoTimes28), 3, {.bind = {kCore}})), ElementsAre("0-13", "14-27", "28-41"));
  // Three times 18 do not fit into two nodes of 28 otherwise.
  EXPECT_THAT(cpus(plan_binding(machine(kTwoTimes28), 3, {.bind = {kCore}, .threads = 18})),
              ElementsAre("0-17", "18-35", "36-53"));
}

TEST(Binding, InACpuset_GoesWhereTheCoresAre) {
  Machine container = machine(kTwoTimes28);
  container.cores.erase(container.cores.begin() + 4, container.cores.begin() + 44);  // 0-3 and 44-55 are left
  EXPECT_THAT(cpus(plan_binding(container, 4, {.bind = {kCore}})), ElementsAre("0-3", "44-47", "48-51", "52-55"));
}

TEST(Binding, OfItself_NeedsTheWholeMachine) {
  EXPECT_EQ(plan_binding(machine(kLaptop), 2, {}).kind, kCore);
  EXPECT_EQ(plan_binding(machine(kLaptop), 2, {.threads = 2}).kind, kCore);
  for (const int ranks : {1, 5}) EXPECT_EQ(plan_binding(machine(kLaptop), ranks, {}).kind, BindKind::kNone) << ranks;
  EXPECT_EQ(plan_binding(machine(kLaptop), 2, {.threads = 1}).kind, BindKind::kNone);  // another job may do the same
  Machine limited = machine(kLaptop);
  limited.cpu_quota = 2.5;
  EXPECT_EQ(plan_binding(limited, 2, {}).kind, BindKind::kNone);
}

TEST(Binding, OfNone_DividesTheCoresThatCanBeBusy) {
  const NodeBinding free = plan_binding(machine(kHaswell), 3, {.bind = {BindKind::kNone}});
  EXPECT_THAT(cpus(free), Each(""));
  EXPECT_THAT(threads(free), Each(10));
  Machine limited = machine(kHaswell);
  limited.cpu_quota = 4.5;
  EXPECT_THAT(threads(plan_binding(limited, 2, {})), Each(2));
  EXPECT_THAT(threads(plan_binding(limited, 2, {.bind = {kCore}})), Each(2));
}

TEST(Binding, OfTooMuch_IsRefusedWithTheArithmetic) {
  EXPECT_THAT([] { plan_binding(machine(kTwoTimes28), 4, {.bind = {kCore}, .threads = 24, .cores_for_comm = 4}); },
              ThrowsWith<UsageError>("4 ranks x (24 + 4 cores) = 112 cores, and the machine has 56"));
  EXPECT_THAT([] { plan_binding(machine(kLaptop), 5, {.bind = {kCore}}); },
              ThrowsWith<UsageError>("5 ranks x 1 core = 5 cores, and the machine has 4"));
  EXPECT_THAT([] { plan_binding(machine(kTwoTimes28), 2, {.bind = {BindKind::kNuma}, .threads = 29}); },
              ThrowsWith<UsageError>("1 rank x 29 cores = 29 cores, and their NUMA node has 28"));
  EXPECT_THAT([] { plan_binding(machine(kLaptop), 2, {.threads_per_core = 4}); }, ThrowsWith<UsageError>("at most 2"));
  EXPECT_THAT([] { plan_binding(machine(kLaptop), 2, {.bind = {BindKind::kNone}, .cores_for_comm = 1}); },
              ThrowsWith<UsageError>("--bind core"));
  EXPECT_THAT([] { plan_binding(machine(kLaptop), 0, {}); }, ThrowsWith<UsageError>("expected: 1 to"));
}

TEST(Binding, OfMoreRanksThanCores_WarnsWithTheCounts) {
  EXPECT_THAT(plan_binding(machine(kLaptop), 6, {}).warnings, ElementsAre("6 ranks on 4 cores: they will take turns"));
  EXPECT_TRUE(plan_binding(machine(kLaptop), 6, {}).crowded);
  EXPECT_FALSE(plan_binding(machine(kLaptop), 4, {}).crowded);
}

}  // namespace
}  // namespace lockstep::launch

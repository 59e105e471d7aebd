#include "machines.h"

namespace lockstep::launch {
namespace {

TEST(BindingTable, SaysWhereEachRankRuns) {
  Machine there = machine(kTwoTimes28);
  there.gpus.resize(2);
  const BindingOptions options{.bind = {kCore}, .threads = 24, .cores_for_comm = 4};
  EXPECT_EQ(binding_table(plan_binding(there, 2, options), 6).to_text(),
            "rank  cpus   threads  comm cpus  NUMA  GPU\n"
            "   6  0-23        24  24-27      0       0\n"
            "   7  28-51       24  52-55      1       1\n");
}

TEST(BindingTable, SaysThatRanksAreFree) {
  EXPECT_EQ(binding_table(plan_binding(machine(kLaptop), 1, {})).to_text(),
            "rank  cpus  threads  comm cpus  NUMA  GPU\n"
            "   0  any         4\n");
}

}  // namespace
}  // namespace lockstep::launch

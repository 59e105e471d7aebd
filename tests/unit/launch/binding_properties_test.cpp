// What holds for every machine and every number of ranks that fits on it.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "machines.h"

namespace lockstep::launch {
namespace {

struct Shape {
  int ranks, threads_per_core, cores_for_comm;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 16, 31, 64}) {
    for (const int per_core : {1, 2}) {
      for (const int comm : {0, 1, 4}) all.push_back({ranks, per_core, comm});
    }
  }
  return all;
}

// Runs `check` on the binding by core of every shape that fits, on every machine; returns how many did.
template <typename Check>
int for_each_binding(Check&& check) {
  int fitting = 0;
  for (const char* name : {kLaptop, kHaswell, kTwoTimes28, kKnl68, kKnl64InQuarters, kEightNodes}) {
    const Machine there = machine(name);
    for (const Shape& shape : shapes()) {
      SCOPED_TRACE(fmt::format("{} ranks on {}, {} threads a core, {} for communication", shape.ranks, name,
                               shape.threads_per_core, shape.cores_for_comm));
      const BindingOptions options{
          .bind = {kCore}, .threads_per_core = shape.threads_per_core, .cores_for_comm = shape.cores_for_comm};
      if (std::cmp_greater(shape.ranks * (1 + shape.cores_for_comm), there.cores.size())) {
        EXPECT_THROW(plan_binding(there, shape.ranks, options), UsageError);
      } else {
        ++fitting;
        check(shape, there, plan_binding(there, shape.ranks, options));
      }
    }
  }
  return fitting;
}

TEST(BindingByCore, NeverGivesACpuTwice) {
  const int fitting = for_each_binding([](const Shape&, const Machine&, const NodeBinding& binding) {
    std::set<int> taken;
    for (const RankBinding& rank : binding.ranks) {
      for (const int cpu : rank.cpus) EXPECT_TRUE(taken.insert(cpu).second) << cpu;
      for (const int cpu : rank.comm_cpus) EXPECT_TRUE(taken.insert(cpu).second) << cpu;
    }
  });
  EXPECT_GT(fitting, 200);
}

TEST(BindingByCore, NeverComputesOnACoreForCommunication) {
  for_each_binding([](const Shape&, const Machine& there, const NodeBinding& binding) {
    std::set<int> compute, comm;
    for (const RankBinding& rank : binding.ranks) {
      compute.insert(rank.cpus.begin(), rank.cpus.end());
      comm.insert(rank.comm_cpus.begin(), rank.comm_cpus.end());
    }
    for (const Core& core : there.cores) {
      const auto used_in = [&](const std::set<int>& cpus) {
        return std::any_of(core.cpus.begin(), core.cpus.end(), [&](int cpu) { return cpus.contains(cpu); });
      };
      EXPECT_FALSE(used_in(compute) && used_in(comm)) << core.cpus.front();
    }
  });
}

TEST(BindingByCore, GivesEveryRankTheSame) {
  for_each_binding([](const Shape& shape, const Machine&, const NodeBinding& binding) {
    for (const RankBinding& rank : binding.ranks) {
      EXPECT_EQ(rank.cpus.size(), binding.ranks.front().cpus.size());
      EXPECT_EQ(static_cast<int>(rank.comm_cpus.size()), shape.cores_for_comm);
      EXPECT_EQ(rank.threads, static_cast<int>(rank.cpus.size()));
    }
  });
}

TEST(BindingByCore, KeepsARankInOneNodeWhereThereAreEnoughRanks) {
  for_each_binding([](const Shape& shape, const Machine& there, const NodeBinding& binding) {
    std::set<int> nodes;
    for (const Core& core : there.cores) nodes.insert(core.numa_node);
    if (std::cmp_less(shape.ranks, nodes.size())) return;
    const int cores_of_node = static_cast<int>(there.cores.size() / nodes.size());
    const int ranks_of_node = (shape.ranks + static_cast<int>(nodes.size()) - 1) / static_cast<int>(nodes.size());
    if (ranks_of_node * (1 + shape.cores_for_comm) > cores_of_node) return;
    for (const RankBinding& rank : binding.ranks) EXPECT_EQ(rank.numa_nodes.size(), 1);
  });
}

}  // namespace
}  // namespace lockstep::launch

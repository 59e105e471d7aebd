// What oneCCL is told: never a worker outside this rank's own cores, and the user's word before ours.
#include <map>

#include <gmock/gmock.h>

#include "comm/ccl/environment.h"

namespace lockstep::comm::ccl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

using Variables = std::map<std::string, std::string>;

struct Planned {
  Variables variables;
  std::vector<std::string> warnings;
};

Planned plan(std::vector<int> cores, const Variables& set, int local_rank = 0, int local_size = 2,
             bool one_node = true) {
  const EnvironmentPlan plan =
      plan_environment({.one_node = one_node,
                        .cores = std::move(cores),
                        .local_rank = local_rank,
                        .local_size = local_size,
                        .variable = [&](const std::string& name) -> std::optional<std::string> {
                          const auto found = set.find(name);
                          return found == set.end() ? std::nullopt : std::optional(found->second);
                        }});
  return {Variables(plan.variables.begin(), plan.variables.end()), plan.warnings};
}

TEST(CclEnvironment, StartsNoWorkersByItself) {
  const Planned planned = plan({0, 1}, {});
  EXPECT_THAT(planned.variables,
              AllOf(Contains(Pair("CCL_WORKER_OFFLOAD", "0")), Not(Contains(Key("CCL_WORKER_AFFINITY")))));
  EXPECT_THAT(planned.warnings, IsEmpty());
}

TEST(CclEnvironment, OpensNoPortOnOneNode) {
  EXPECT_THAT(plan({0}, {}).variables, AllOf(Contains(Pair("FI_PROVIDER", "shm")), Contains(Pair("CCL_ATL_SHM", "1"))));
  EXPECT_THAT(plan({0}, {}, 0, 1, false).variables, Not(Contains(Key("FI_PROVIDER"))));
}

TEST(CclEnvironment, LeavesWhatTheUserHasSet) {
  const Variables set = {{"FI_PROVIDER", "tcp"}, {"CCL_ATL_SHM", "0"}, {"CCL_LOG_LEVEL", "info"}};
  for (const auto& [name, value] : set) EXPECT_THAT(plan({0}, set).variables, Not(Contains(Key(name))));
}

TEST(CclEnvironment, PutsWorkersOnTheRanksOwnCores) {
  const Variables set = {{"CCL_WORKER_OFFLOAD", "1"}, {"CCL_WORKER_COUNT", "2"}};
  const auto affinity = [&](std::vector<int> cores, int local_rank) {
    return plan(std::move(cores), set, local_rank).variables.at("CCL_WORKER_AFFINITY");
  };
  EXPECT_EQ(affinity({0, 1, 2, 3}, 0), "3,2");
  EXPECT_EQ(affinity({0, 1, 2, 3}, 1), "1,0");  // one mask for both ranks: other cores of it
  EXPECT_EQ(affinity({8, 9, 10}, 1), "8,10");   // never outside, though there are too few
  EXPECT_EQ(affinity({5}, 1), "5,5");
}

TEST(CclEnvironment, MakesEachRankKnowItsOwnCoresOnly) {
  const auto variables = plan({4, 5}, {{"CCL_WORKER_OFFLOAD", "1"}}, 1).variables;
  EXPECT_THAT(variables, AllOf(Contains(Pair("CCL_PROCESS_LAUNCHER", "none")), Contains(Pair("CCL_LOCAL_RANK", "0")),
                               Contains(Pair("CCL_LOCAL_SIZE", "1"))));
}

TEST(CclEnvironment, MakesEachRankKnowItsPartOfAListForAllRanks) {
  for (const char* offload : {"0", "1"}) {
    const auto variables = plan({4, 5}, {{"CCL_WORKER_OFFLOAD", offload}, {"CCL_WORKER_AFFINITY", "1,5"}}, 1).variables;
    EXPECT_THAT(variables, AllOf(Contains(Pair("CCL_LOCAL_RANK", "1")), Contains(Pair("CCL_LOCAL_SIZE", "2"))))
        << offload;
  }
}

TEST(CclEnvironment, WarnsOfAWorkerOutsideTheMask) {
  const Variables set = {{"CCL_WORKER_OFFLOAD", "1"}, {"CCL_WORKER_AFFINITY", "0-1"}};
  const Planned inside = plan({0}, set, 0);
  EXPECT_THAT(inside.warnings, ElementsAre(HasSubstr("CCL_WORKER_OFFLOAD is set")));
  const Planned outside = plan({2, 3}, set, 1);
  EXPECT_THAT(outside.warnings, ElementsAre(HasSubstr("CCL_WORKER_OFFLOAD is set"),
                                            AllOf(HasSubstr("on core 1"), HasSubstr("runs on 2,3"))));
  EXPECT_THAT(outside.variables, AllOf(Contains(Pair("CCL_LOCAL_RANK", "1")), Contains(Pair("CCL_LOCAL_SIZE", "2"))));
}

}  // namespace
}  // namespace lockstep::comm::ccl

// What libraries are told of a rank's cores, and that the user's word stays.
#include <lockstep/launch/thread_environment.h>

#include "machines.h"

namespace lockstep::launch {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

using Variables = std::map<std::string, std::string>;

ThreadEnvironment told(const NodeBinding& binding, int rank, const Variables& user = {}) {
  return thread_environment(binding, rank, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = user.find(name);
    return found == user.end() ? std::nullopt : std::optional(found->second);
  });
}

NodeBinding two_times_24() {
  return plan_binding(machine(kTwoTimes28), 2, {.bind = {kCore}, .threads = 24, .cores_for_comm = 4});
}

TEST(ThreadEnvironment, IsConsistentWithTheRanksCores) {
  EXPECT_THAT(
      told(two_times_24(), 1).variables,
      UnorderedElementsAre(Pair("OMP_NUM_THREADS", "24"), Pair("MKL_NUM_THREADS", "24"),
                           Pair("KMP_AFFINITY", "granularity=fine,compact,1,0"), Pair("KMP_BLOCKTIME", "1"),
                           Pair("CCL_WORKER_COUNT", "4"), Pair("CCL_WORKER_AFFINITY", "24,25,26,27,52,53,54,55"),
                           Pair("LOCKSTEP_COMM_CPUS", "52-55")));
}

TEST(ThreadEnvironment, SaysNothingOfCommunicationWithoutCoresForIt) {
  const Variables variables = told(plan_binding(machine(kHaswell), 2, {.threads_per_core = 2}), 0).variables;
  EXPECT_THAT(variables,
              UnorderedElementsAre(Pair("OMP_NUM_THREADS", "32"), Pair("MKL_NUM_THREADS", "32"),
                                   Pair("KMP_AFFINITY", "granularity=fine,compact"), Pair("KMP_BLOCKTIME", "1")));
}

TEST(ThreadEnvironment, DoesNotPinThreadsOfRanksThatShareCores) {
  for (const BindKind kind : {BindKind::kNuma, BindKind::kNone}) {
    EXPECT_THAT(told(plan_binding(machine(kHaswell), 4, {.bind = {kind}}), 0).variables,
                Not(Contains(Key("KMP_AFFINITY"))));
  }
  EXPECT_THAT(told(plan_binding(machine(kHaswell), 2, {.bind = {BindKind::kNuma}}), 0).variables,
              Contains(Key("KMP_AFFINITY")));
}

TEST(ThreadEnvironment, LetsThreadsOfACrowdSleepAtOnce) {
  EXPECT_THAT(told(plan_binding(machine(kLaptop), 6, {}), 0).variables, Contains(Pair("KMP_BLOCKTIME", "0")));
  EXPECT_THAT(told(plan_binding(machine(kLaptop), 1, {.threads = 5}), 0).variables,
              Contains(Pair("KMP_BLOCKTIME", "0")));
}

TEST(ThreadEnvironment, KeepsWhatTheUserHasSetAndTells) {
  const ThreadEnvironment result =
      told(two_times_24(), 0, {{"OMP_NUM_THREADS", "6,2"}, {"KMP_BLOCKTIME", "1"}, {"KMP_AFFINITY", "disabled"}});
  EXPECT_THAT(result.variables, AllOf(Contains(Pair("MKL_NUM_THREADS", "6")), Not(Contains(Key("OMP_NUM_THREADS"))),
                                      Not(Contains(Key("KMP_BLOCKTIME"))), Not(Contains(Key("KMP_AFFINITY")))));
  EXPECT_EQ(describe_kept(result.kept),
            "kept as you have set it: OMP_NUM_THREADS=6,2 (24 would fit), KMP_AFFINITY=disabled "
            "(granularity=fine,compact,1,0 would fit)");
  EXPECT_THAT(told(two_times_24(), 0).kept, IsEmpty());
  EXPECT_EQ(describe_kept({}), "");
}

TEST(ThreadEnvironment, LeavesPlacesToAUserWhoSetsThem) {
  EXPECT_THAT(told(two_times_24(), 0, {{"OMP_PLACES", "cores"}}).variables, Not(Contains(Key("KMP_AFFINITY"))));
}

TEST(ThreadEnvironment, TakesTheUsersWordForBothOfOneCclsVariables) {
  const ThreadEnvironment result = told(two_times_24(), 0, {{"CCL_WORKER_COUNT", "2"}});
  EXPECT_THAT(result.variables,
              AllOf(Not(Contains(Key("CCL_WORKER_COUNT"))), Not(Contains(Key("CCL_WORKER_AFFINITY")))));
  EXPECT_EQ(describe_kept(result.kept), "kept as you have set it: CCL_WORKER_COUNT=2 (4 would fit)");
}

}  // namespace
}  // namespace lockstep::launch

#include <gmock/gmock.h>

#include "launch/rank_environment.h"
#include "scoped_variable.h"

namespace lockstep::launch {
namespace {

using test::ScopedVariable;
using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr const char* kAsTorchrun[][2] = {{"RANK", "5"},
                                          {"WORLD_SIZE", "8"},
                                          {"LOCAL_RANK", "1"},
                                          {"LOCAL_WORLD_SIZE", "4"},
                                          {"GROUP_RANK", "1"},
                                          {"GROUP_WORLD_SIZE", "2"},
                                          {"ROLE_RANK", "5"},
                                          {"ROLE_WORLD_SIZE", "8"},
                                          {"ROLE_NAME", "default"},
                                          {"MASTER_ADDR", "10.0.0.1"},
                                          {"MASTER_PORT", "29500"},
                                          {"TORCHELASTIC_RESTART_COUNT", "2"},
                                          {"TORCHELASTIC_MAX_RESTARTS", "3"},
                                          {"TORCHELASTIC_RUN_ID", "abc"}};

RankPlace place() {
  return {.rank = 5,
          .size = 8,
          .local_rank = 1,
          .local_size = 4,
          .node = 1,
          .nodes = 2,
          .master_address = "10.0.0.1",
          .master_port = 29'500,
          .restarts = 2,
          .max_restarts = 3,
          .job = "abc",
          .rendezvous = "10.0.0.1:7000",
          .token_fd = 9};
}

TEST(PlaceVariables, AreTorchrunsAndOurs) {
  const Variables variables = place_variables(place());
  for (const auto& [name, value] : kAsTorchrun) EXPECT_THAT(variables, Contains(Pair(name, value)));
  EXPECT_THAT(variables, Contains(Pair("LOCKSTEP_RENDEZVOUS", "10.0.0.1:7000")));
  EXPECT_THAT(variables, Contains(Pair("LOCKSTEP_TOKEN_FD", "9")));
}

TEST(PlaceVariables, NameNoRendezvousWhenRanksMeetAtPyTorchsStore) {
  RankPlace there = place();
  there.rendezvous.clear();
  EXPECT_THAT(place_variables(there), Not(Contains(Key("LOCKSTEP_RENDEZVOUS"))));
  EXPECT_THAT(place_variables(there), Not(Contains(Key("LOCKSTEP_TOKEN_FD"))));
}

TEST(PlaceVariables, LetPythonSpeakAtOnceUnlessTheUserSaid) {
  const ScopedVariable unset("PYTHONUNBUFFERED", nullptr);
  EXPECT_THAT(place_variables(place()), Contains(Pair("PYTHONUNBUFFERED", "1")));
  const ScopedVariable set("PYTHONUNBUFFERED", "0");
  EXPECT_THAT(place_variables(place()), Not(Contains(Key("PYTHONUNBUFFERED"))));
}

TEST(VariablesFor, AreTheUsersAndThoseOfTheOutput) {
  const ScopedVariable level("LOCKSTEP_LOG", "debug");
  const Variables variables =
      variables_for({.environment = {{"A", "b=c"}}, .output = {.label = true}, .all_ranks = true});
  EXPECT_EQ(variables, (Variables{{"A", "b=c"}, {"LOCKSTEP_LABELLED", "1"}, {"LOCKSTEP_LOG", "debug,all"}}));
  EXPECT_TRUE(variables_for({}).empty());
}

}  // namespace
}  // namespace lockstep::launch

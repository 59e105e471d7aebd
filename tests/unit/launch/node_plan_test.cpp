#include <list>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "launch/node_plan.h"
#include "scoped_variable.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::launch {
namespace {

using test::ScopedVariable;
using test::TemporaryFolder;
using test::ThrowsWith;
using ::testing::ElementsAre;
using Way = NodePlan::Way;

// With no scheduler around it, whatever the tests run under.
class Plan : public ::testing::Test {
 protected:
  Plan() {
    for (const char* name :
         {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_STEP_NUM_NODES",
          "SLURM_STEP_NUM_TASKS", "SLURM_NODEID", "PBS_NODEFILE", "COBALT_NODEFILE"}) {
      set(name, nullptr);
    }
  }
  void set(const std::string& name, const char* value) { variables_.emplace_front(name, value); }

  void set_step(const char* nodes, const char* tasks, const char* number) {
    set("SLURM_JOB_ID", "812");
    set("SLURM_STEP_ID", "3");
    set("SLURM_STEP_NODELIST", "n[07-09]");
    set("SLURM_STEP_NUM_NODES", nodes);
    set("SLURM_STEP_NUM_TASKS", tasks);
    set("SLURM_NODEID", number);
  }

  RunOptions options_;
  TemporaryFolder folder_;

 private:
  std::list<ScopedVariable> variables_;  // the last one is undone first
};

TEST_F(Plan, OfNothingSaidIsThisMachine) {
  EXPECT_EQ(plan_nodes(options_).way, Way::kAlone);
  options_.nodes.min = options_.nodes.max = 1;
  EXPECT_EQ(plan_nodes(options_).way, Way::kAlone);
}

TEST_F(Plan, OfNodesThatComeByThemselves) {
  options_.nodes = {.min = 2, .max = 2, .node_rank = 0, .master_address = "10.0.0.1"};
  const NodePlan leader = plan_nodes(options_);
  EXPECT_EQ(leader.way, Way::kLead);
  EXPECT_EQ(leader.port, 29'500);
  options_.nodes.node_rank = 1;
  const NodePlan other = plan_nodes(options_);
  EXPECT_EQ(other.way, Way::kJoin);
  EXPECT_EQ(other.number, 1);
  EXPECT_EQ(other.address, "10.0.0.1");
}

TEST_F(Plan, OfAnElasticJobLetsNodesComeWithoutNumbers) {
  options_.nodes = {.min = 1, .max = 4, .master_address = "10.0.0.1"};
  EXPECT_EQ(plan_nodes(options_).way, Way::kJoin);
  EXPECT_TRUE(plan_nodes(options_).is_elastic());
  options_.ranks = 4;
  EXPECT_THAT([&] { plan_nodes(options_); }, ThrowsWith<UsageError>("depends on the nodes that come"));
}

TEST_F(Plan, OfHostsStandsAboveTheScheduler) {
  set("SLURM_JOB_ID", "812");
  set("SLURM_JOB_NODELIST", "n[1-2]");
  options_.nodes.hosts = {"a:2", "b"};
  const NodePlan plan = plan_nodes(options_);
  EXPECT_EQ(plan.way, Way::kSsh);
  EXPECT_THAT(plan.hosts, ElementsAre(Host{"a", 2}, Host{"b", 0}));
  EXPECT_EQ(plan.min, 2);
}

TEST_F(Plan, ThatContradictsItselfIsRefused) {
  options_.nodes = {.hosts = {"a"}, .hostfile = "b"};
  EXPECT_THAT([&] { plan_nodes(options_); }, ThrowsWith<UsageError>("the hosts are given twice"));
  options_.nodes = {.node_rank = 1};
  EXPECT_THAT([&] { plan_nodes(options_); }, ThrowsWith<UsageError>("--node-rank says nothing without --nnodes"));
  options_.nodes = {.min = 2, .max = 2, .node_rank = 0, .hosts = {"a", "b"}};
  EXPECT_THAT([&] { plan_nodes(options_); }, ThrowsWith<UsageError>("one command starts all nodes"));
  options_.nodes = {.min = 3, .max = 3, .hosts = {"a", "b"}};
  EXPECT_THAT([&] { plan_nodes(options_); }, ThrowsWith<UsageError>("do not fit"));
  options_.nodes = {.min = 2, .max = 2, .master_address = "a"};
  EXPECT_THAT([&] { plan_nodes(options_); }, ThrowsWith<UsageError>("each node needs its number"));
}

TEST_F(Plan, InABatchScriptOfSlurmIsOneSrun) {
  set("SLURM_JOB_ID", "812");
  set("SLURM_JOB_NODELIST", "n[07-08],x");
  const NodePlan plan = plan_nodes(options_);
  EXPECT_EQ(plan.way, Way::kSrun);
  EXPECT_THAT(plan.hosts, ElementsAre(Host{"n07", 0}, Host{"n08", 0}, Host{"x", 0}));
  set("SLURM_JOB_NODELIST", "n07");
  EXPECT_EQ(plan_nodes(options_).way, Way::kAlone);
}

TEST_F(Plan, InATaskOfSrunLetsTheTasksFindOneAnother) {
  set_step("3", "3", "0");
  const NodePlan leader = plan_nodes(options_);
  EXPECT_EQ(leader.way, Way::kLead);
  EXPECT_EQ(leader.address, "n07");
  EXPECT_EQ(leader.max, 3);
  set_step("3", "3", "2");
  const NodePlan other = plan_nodes(options_);
  EXPECT_EQ(other.way, Way::kJoin);
  EXPECT_EQ(other.number, 2);
  EXPECT_EQ(other.port, leader.port);
}

TEST_F(Plan, InTasksOfSrunThatShareANodeIsRefused) {
  set_step("3", "6", "0");
  EXPECT_THAT([&] { plan_nodes(options_); }, ThrowsWith<UsageError>("6 tasks on 3 nodes"));
}

TEST_F(Plan, InATaskOfSrunOnOneNodeIsThisMachine) {
  set_step("1", "1", "0");
  EXPECT_EQ(plan_nodes(options_).way, Way::kAlone);
}

TEST_F(Plan, UnderPbsCountsTheLinesOfItsNodefile) {
  set("PBS_NODEFILE", folder_.write("nodes", "a\na\nb\nb\n").c_str());
  const NodePlan plan = plan_nodes(options_);
  EXPECT_EQ(plan.way, Way::kSsh);
  EXPECT_THAT(plan.hosts, ElementsAre(Host{"a", 2}, Host{"b", 2}));
}

TEST_F(Plan, UnderCobaltUsesAprunWhereThereIsOne) {
  set("COBALT_NODEFILE", folder_.write("nodes", "a\nb\n").c_str());
  set("PATH", folder_.path().c_str());
  EXPECT_EQ(plan_nodes(options_).way, Way::kSsh);
  std::filesystem::permissions(folder_.write("aprun", "#!/bin/sh\n"), std::filesystem::perms::owner_all);
  const NodePlan plan = plan_nodes(options_);
  EXPECT_EQ(plan.way, Way::kAprun);
  EXPECT_THAT(plan.hosts, ElementsAre(Host{"a", 0}, Host{"b", 0}));
}

TEST(ShareRanks, GivesEachNodeItsGpusOrOne) {
  EXPECT_THAT(share_ranks({}, {{.gpus = 4}, {.gpus = 0}}), ElementsAre(4, 1));
  EXPECT_THAT(share_ranks({.ranks_per_node = 3}, {{.gpus = 4}, {.told = 2}}), ElementsAre(3, 3));
  EXPECT_THAT(share_ranks({}, {{.told = 2}, {.gpus = 8}}), ElementsAre(2, 8));
}

TEST(ShareRanks, SpreadsANumberInAllEvenly) {
  EXPECT_THAT(share_ranks({.ranks = 8}, {{}, {}, {}}), ElementsAre(3, 3, 2));
  EXPECT_THAT(share_ranks({.ranks = 5}, {{.told = 1}, {.told = 4}, {.told = 4}}), ElementsAre(1, 2, 2));
  EXPECT_THAT(share_ranks({.ranks = 6}, {{.told = 4}, {.told = 2}}), ElementsAre(4, 2));
}

TEST(ShareRanks, RefusesNumbersThatDoNotFit) {
  EXPECT_THAT([] { share_ranks({.ranks = 5, .ranks_per_node = 2}, {{}, {}}); }, ThrowsWith<UsageError>("-n 4"));
  EXPECT_THAT([] { share_ranks({.ranks = 1}, {{}, {}}); }, ThrowsWith<UsageError>("1 ranks cannot be on 2 nodes"));
  EXPECT_THAT([] { share_ranks({.ranks = 9}, {{.told = 4}, {.told = 4}}); }, ThrowsWith<UsageError>("places for 8"));
}

}  // namespace
}  // namespace lockstep::launch

#include <lockstep/base/placement.h>

#include <deque>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "scoped_variable.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// An environment in which no launcher has left anything but what the test sets.
class PlacementTest : public ::testing::Test {
 protected:
  PlacementTest() {
    for (const char* name : {"RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE",
                             "GROUP_RANK",
                             "MASTER_ADDR",
                             "MASTER_PORT",
                             "LOCKSTEP_LAUNCHER",
                             "TORCHELASTIC_RUN_ID",
                             "OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "MPI_LOCALRANKID",
                             "MPI_LOCALNRANKS",
                             "PMIX_RANK",
                             "PALS_RANKID",
                             "ALPS_APP_PE",
                             "SLURM_PROCID",
                             "SLURM_NTASKS",
                             "SLURM_LOCALID",
                             "SLURM_NODEID",
                             "SLURM_STEP_ID",
                             "SLURM_STEP_NODELIST",
                             "SLURM_STEP_NUM_NODES",
                             "SLURM_STEP_NUM_TASKS"}) {
      set(name, nullptr);
    }
  }
  void set(const char* name, const char* value) { variables_.emplace_back(name, value); }

  std::string message() {
    try {
      discover_placement();
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

 private:
  std::deque<test::ScopedVariable> variables_;
};

TEST_F(PlacementTest, ASingleProcessIsRankZeroOfOne) {
  const Placement placement = discover_placement();
  EXPECT_EQ(placement.rank.rank, 0);
  EXPECT_EQ(placement.rank.size, 1);
  EXPECT_EQ(placement.source, "none: a single process");
}

TEST_F(PlacementTest, ReadsTorchrunsVariables) {
  set("RANK", "5");
  set("WORLD_SIZE", "8");
  set("LOCAL_RANK", "1");
  set("LOCAL_WORLD_SIZE", "4");
  set("GROUP_RANK", "1");
  set("MASTER_ADDR", "node1");
  set("MASTER_PORT", "29500");
  set("TORCHELASTIC_RUN_ID", "job");
  const Placement placement = discover_placement();
  EXPECT_EQ(placement.rank.rank, 5);
  EXPECT_EQ(placement.rank.size, 8);
  EXPECT_EQ(placement.local_rank, 1);
  EXPECT_EQ(placement.local_size, 4);
  EXPECT_EQ(placement.node, 1);
  EXPECT_EQ(placement.master_address, "node1");
  EXPECT_EQ(placement.master_port, 29500);
  EXPECT_EQ(placement.source, "torchrun");
}

TEST_F(PlacementTest, ReadsOpenMpi) {
  set("OMPI_COMM_WORLD_RANK", "2");
  set("OMPI_COMM_WORLD_SIZE", "3");
  set("OMPI_COMM_WORLD_LOCAL_RANK", "0");
  set("PMIX_RANK", "2");  // which its mpirun sets too
  const Placement placement = discover_placement();
  EXPECT_EQ(placement.rank.rank, 2);
  EXPECT_EQ(placement.local_rank, 0);
  EXPECT_EQ(placement.source, "Open MPI");
}

TEST_F(PlacementTest, ReadsHydra) {
  set("PMI_RANK", "1");
  set("PMI_SIZE", "2");
  set("MPI_LOCALRANKID", "1");
  const Placement placement = discover_placement();
  EXPECT_EQ(placement.rank.rank, 1);
  EXPECT_EQ(placement.local_rank, 1);
  EXPECT_EQ(placement.source, "PMI");
}

TEST_F(PlacementTest, ReadsATaskOfSrun) {
  set("SLURM_PROCID", "3");
  set("SLURM_STEP_ID", "0");
  set("SLURM_STEP_NUM_TASKS", "4");
  set("SLURM_LOCALID", "1");
  set("SLURM_NODEID", "1");
  const Placement placement = discover_placement();
  EXPECT_EQ(placement.rank.rank, 3);
  EXPECT_EQ(placement.rank.size, 4);
  EXPECT_EQ(placement.source, "Slurm");
}

TEST_F(PlacementTest, AnAllocationAroundAPlainShellIsASingleProcess) {
  set("SLURM_PROCID", "0");
  set("SLURM_NTASKS", "8");
  EXPECT_EQ(discover_placement().rank.size, 1);
}

TEST_F(PlacementTest, VariablesSetByHandMustAgreeWithTheLaunchers) {
  set("RANK", "0");
  set("WORLD_SIZE", "2");
  set("OMPI_COMM_WORLD_RANK", "1");
  set("OMPI_COMM_WORLD_SIZE", "2");
  EXPECT_THAT(message(), AllOf(HasSubstr("RANK=0"), HasSubstr("OMPI_COMM_WORLD_RANK=1")));
}

TEST_F(PlacementTest, ALauncherInsideAnothersTaskKnowsBetter) {
  set("LOCKSTEP_LAUNCHER", "run");
  set("RANK", "3");
  set("WORLD_SIZE", "4");
  set("SLURM_PROCID", "0");
  set("SLURM_STEP_ID", "0");
  set("SLURM_STEP_NUM_TASKS", "1");
  EXPECT_EQ(discover_placement().rank.rank, 3);
  EXPECT_EQ(discover_placement().source, "lockstep run");
}

TEST_F(PlacementTest, RefusesARankOutsideTheWorld) {
  set("RANK", "2");
  set("WORLD_SIZE", "2");
  EXPECT_THAT(message(), AllOf(HasSubstr("RANK=2"), HasSubstr("WORLD_SIZE=2")));
}

TEST_F(PlacementTest, RefusesHalfOfThePair) {
  set("RANK", "0");
  EXPECT_THAT(message(), HasSubstr("RANK is set but WORLD_SIZE is not"));
}

TEST_F(PlacementTest, RefusesWhatIsNoNumber) {
  set("RANK", "zero");
  set("WORLD_SIZE", "2");
  EXPECT_THAT(message(), AllOf(HasSubstr("RANK"), HasSubstr("'zero'")));
}

TEST_F(PlacementTest, WhatTheProgramSaysGoesFirst) {
  set("RANK", "3");
  set("WORLD_SIZE", "4");
  const Placement placement = discover_placement(RankId{1, 2});
  EXPECT_EQ(placement.rank.rank, 1);
  EXPECT_EQ(placement.rank.size, 2);
  EXPECT_EQ(placement.source, "the program");
  EXPECT_THROW(discover_placement(RankId{2, 2}), UsageError);
}

TEST_F(PlacementTest, AprunTellsTheRankAndWorldSizeTheRest) {
  set("ALPS_APP_PE", "5");
  EXPECT_THAT(message(), AllOf(HasSubstr("ALPS_APP_PE=5"), HasSubstr("-e WORLD_SIZE=N")));
  set("WORLD_SIZE", "8");
  const Placement placement = discover_placement();
  EXPECT_EQ(placement.rank.rank, 5);
  EXPECT_EQ(placement.rank.size, 8);
  EXPECT_EQ(placement.source, "ALPS");
}

TEST_F(PlacementTest, OfSlurmHasTheFirstHostAndOneNode) {
  set("SLURM_STEP_ID", "0");
  set("SLURM_PROCID", "1");
  set("SLURM_STEP_NUM_TASKS", "2");
  set("SLURM_STEP_NODELIST", "nid[07-08]");
  EXPECT_EQ(discover_placement().master_address, "nid07");
  EXPECT_FALSE(discover_placement().on_one_node());
  set("SLURM_STEP_NUM_NODES", "1");
  EXPECT_TRUE(discover_placement().on_one_node());
}

}  // namespace
}  // namespace lockstep

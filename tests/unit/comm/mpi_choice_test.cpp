#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "comm/mpi/which.h"
#include "scoped_variable.h"

namespace lockstep::comm::mpi {
namespace {

using test::ScopedVariable;

// Without what the launcher of this test may have set.
class WhichMpi : public ::testing::Test {
 private:
  ScopedVariable ompi_{"OMPI_COMM_WORLD_RANK", nullptr}, pmi_{"PMI_RANK", nullptr}, fd_{"PMI_FD", nullptr},
      pals_{"PALS_RANKID", nullptr}, pmix_{"PMIX_RANK", nullptr}, asked_{"LOCKSTEP_MPI", nullptr};
};

TEST_F(WhichMpi, IsTheLaunchers) {
  {
    const ScopedVariable rank("PMI_RANK", "0");
    EXPECT_EQ(choose(2), "mpich");
  }
  const ScopedVariable pmix("PMIX_RANK", "0");
  EXPECT_EQ(choose(2), "openmpi");
  const ScopedVariable pals("PALS_RANKID", "0");
  EXPECT_EQ(choose(2), "mpich");  // Cray's launcher sets both
  const ScopedVariable ompi("OMPI_COMM_WORLD_RANK", "0");
  EXPECT_EQ(choose(2), "openmpi");
}

TEST_F(WhichMpi, IsWhatTheUserSays) {
  const ScopedVariable rank("PMI_RANK", "0");
  const ScopedVariable asked("LOCKSTEP_MPI", "openmpi");
  EXPECT_EQ(choose(2), "openmpi");
  const ScopedVariable nonsense("LOCKSTEP_MPI", "openmp");
  EXPECT_THROW(choose(2), UsageError);
}

TEST_F(WhichMpi, IsRefusedWhereNoMpiStartedSeveralRanks) {
  EXPECT_THROW(choose(2), UsageError);
  EXPECT_NO_THROW(choose(1));
}

}  // namespace
}  // namespace lockstep::comm::mpi

#include <lockstep/base/comm_cpus.h>

#include <sched.h>

#include <thread>

#include <gmock/gmock.h>

#include <lockstep/base/affinity_mask.h>
#include <lockstep/base/cpu_list.h>
#include <lockstep/base/errors.h>

#include "scoped_variable.h"
#include "throws_with.h"

namespace lockstep {
namespace {

using test::ScopedVariable;
using test::ThrowsWith;
using ::testing::ElementsAre;

std::vector<int> cpus_of_this_thread() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ::sched_getaffinity(0, sizeof(mask), &mask);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

// In a thread of its own: what it does to itself ends with it.
template <typename Body>
void in_a_thread(Body&& body) {
  std::thread(body).join();
}

TEST(CommCpus, AreWhereAThreadMoves) {
  const int last = cpus_of_this_thread().back();
  const ScopedVariable variable("LOCKSTEP_COMM_CPUS", std::to_string(last).c_str());
  in_a_thread([&] {
    move_to_comm_cpus();
    EXPECT_THAT(cpus_of_this_thread(), ElementsAre(last));
  });
}

TEST(CommCpus, AreLeftAgainByAScope) {
  const std::vector<int> before = cpus_of_this_thread();
  const ScopedVariable variable("LOCKSTEP_COMM_CPUS", std::to_string(before.back()).c_str());
  in_a_thread([&] {
    {
      const OnCommCpus there;
      in_a_thread([&] { EXPECT_THAT(cpus_of_this_thread(), ElementsAre(before.back())); });
    }
    EXPECT_EQ(cpus_of_this_thread(), before);
  });
}

TEST(CommCpus, ThatAreNotSetOrNotThereLeaveAThreadWhereItIs) {
  const std::vector<int> before = cpus_of_this_thread();
  for (const char* value : {static_cast<const char*>(nullptr), "60000"}) {
    const ScopedVariable variable("LOCKSTEP_COMM_CPUS", value);
    in_a_thread([&] {
      move_to_comm_cpus();
      EXPECT_EQ(cpus_of_this_thread(), before);
    });
  }
}

TEST(AffinityMask, CountsItsCpusBeyondWhatOneSetHolds) {
  EXPECT_EQ(AffinityMask().count(), 0);
  EXPECT_EQ(AffinityMask(std::vector{0, 3, CPU_SETSIZE + 5}).count(), 3);
  EXPECT_EQ(AffinityMask::current().count(), std::ssize(cpus_of_this_thread()));
}

TEST(CommCpus, ThatAreNoListAreTheUsersMistake) {
  const ScopedVariable variable("LOCKSTEP_COMM_CPUS", "last");
  EXPECT_THAT([] { comm_cpus(); }, ThrowsWith<UsageError>("LOCKSTEP_COMM_CPUS"));
}

}  // namespace
}  // namespace lockstep

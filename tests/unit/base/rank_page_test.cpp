#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <lockstep/base/rank_page.h>

#include "scoped_variable.h"

namespace lockstep::test {
namespace {

TEST(RankPage, IsEmptyAtFirst) {
  const RankPage::Reading reading = RankPage().read();
  EXPECT_EQ(reading.beats, 0U);
  EXPECT_EQ(reading.doing, "");
  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.blamed_rank, std::nullopt);
}

TEST(RankPage, TellsWhatTheRankDoes) {
  RankPage page;
  page.begin("all_reduce", 1841, "float32[10]");
  EXPECT_EQ(page.read().doing, "all_reduce #1841 (float32[10])");
  EXPECT_FALSE(page.read().done);
  page.end();
  EXPECT_TRUE(page.read().done);
  EXPECT_EQ(page.read().beats, 2U);
  page.begin("barrier", 0, "");
  EXPECT_EQ(page.read().doing, "barrier");
}

TEST(RankPage, KeepsTheFirstRankThatIsBlamed) {
  RankPage page;
  page.blame(0);
  page.blame(3);
  EXPECT_EQ(page.read().blamed_rank, 0);
}

TEST(RankPage, CutsTextsThatAreTooLong) {
  RankPage page;
  page.begin(std::string(10'000, 'x'), 1, std::string(10'000, 'y'));
  page.fail(std::string(10'000, 'z'));
  EXPECT_LT(page.read().doing.size(), 200U);
  EXPECT_GT(page.read().error.size(), 1'000U);
  EXPECT_LT(page.read().error.size(), 4'096U);
}

TEST(RankPage, MakesForeignTextHarmless) {
  RankPage page;
  page.begin("\x1b[2J", 1, "");
  page.fail("one\n\x1b[2J");
  EXPECT_EQ(page.read().doing.find('\x1b'), std::string::npos);
  EXPECT_EQ(page.read().error, "one\n\\x1b[2J");
}

// The launcher reads the page of a rank that may do anything: it must not be able to take the memory away.
TEST(RankPage, CannotBeCut) {
  const RankPage page;
  EXPECT_NE(::ftruncate(page.fd(), 0), 0);
  EXPECT_EQ(page.read().beats, 0U);
}

// In a process of its own, as a rank is: the answer is found once and for all.
TEST(RankPage, IsTheOneThatTheLauncherNames) {
  const RankPage page;
  const pid_t rank = ::fork();
  ASSERT_GE(rank, 0);
  if (rank == 0) {
    const ScopedVariable name("LOCKSTEP_RANK_PAGE_FD", std::to_string(page.fd()).c_str());
    RankPage* own = RankPage::of_this_process();
    if (own != nullptr) own->begin("all_reduce", 7, "");
    ::_exit(own != nullptr ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(rank, &status, 0), rank);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(page.read().doing, "all_reduce #7");
}

// A program in between has closed the descriptor, and another file has its number now.
TEST(RankPage, IsNoOtherFile) {
  const pid_t rank = ::fork();
  ASSERT_GE(rank, 0);
  if (rank == 0) {
    const int other = ::open("/dev/null", O_RDWR);
    const ScopedVariable name("LOCKSTEP_RANK_PAGE_FD", std::to_string(other).c_str());
    ::_exit(RankPage::of_this_process() == nullptr ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(rank, &status, 0), rank);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace lockstep::test

#include "data/tools/ordered_work.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <gtest/gtest.h>

namespace lockstep::data {
namespace {

std::function<std::optional<int>()> count_to(int end) {
  return [i = 0, end]() mutable { return i == end ? std::nullopt : std::optional(i++); };
}

TEST(OrderedWork, HandsOutResultsInTheOrderOfTheItems) {
  for (const int workers : {1, 2, 8}) {
    OrderedWork<int, int> work(workers, count_to(1000), [](int i) {
      if (i % 7 == 0) std::this_thread::yield();
      return i * i;
    });
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(work.next(), i * i);
    EXPECT_EQ(work.next(), std::nullopt);
    EXPECT_EQ(work.next(), std::nullopt);
  }
}

TEST(OrderedWork, KeepsFewItemsInFlight) {
  std::atomic<int> made = 0, taken = 0, most = 0;
  OrderedWork<int, int> work(
      3,
      [&]() -> std::optional<int> {
        most = std::max(most.load(), ++made - taken.load());
        return made > 500 ? std::nullopt : std::optional(made.load());
      },
      [](int i) { return i; });
  while (work.next()) ++taken;
  EXPECT_EQ(taken, 500);
  EXPECT_LE(most, 3 * 4 + 1);
}

TEST(OrderedWork, ThrowsWhatAnItemThrewInItsPlace) {
  OrderedWork<int, int> work(2, count_to(10), [](int i) {
    if (i == 4) throw std::runtime_error("four");
    return i;
  });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(work.next(), i);
  EXPECT_THROW(work.next(), std::runtime_error);
  EXPECT_EQ(work.next(), 5);
}

TEST(OrderedWork, ThrowsWhatMakingThrew) {
  OrderedWork<int, int> work(
      2,
      [i = 0]() mutable -> std::optional<int> {
        if (i == 3) throw std::runtime_error("no more");
        return i++;
      },
      [](int i) { return i; });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(work.next(), i);
  EXPECT_THROW(work.next(), std::runtime_error);
  EXPECT_EQ(work.next(), std::nullopt);
}

// Leaves room for the stacks of some threads, and no more.
void limit_memory() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + (std::uint64_t{64} << 20);
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  ::setrlimit(RLIMIT_AS, &limit);
}

TEST(OrderedWorkDeathTest, EndsWhenAThreadCannotBeMade) {
  constexpr int kThrown = 7;
  const auto with_too_many = [] {
    ::alarm(60);  // waiting for ever is to be a failure
    limit_memory();
    try {
      OrderedWork<int, int> work(1000, count_to(1'000'000), [](int i) { return i; });
    } catch (const std::system_error&) {
      std::_Exit(kThrown);
    }
  };
  EXPECT_EXIT(with_too_many(), ::testing::ExitedWithCode(kThrown), "");
}

TEST(OrderedWork, EndsWhenItIsLeftInTheMiddle) {
  OrderedWork<int, int> work(4, count_to(1'000'000), [](int i) { return i; });
  EXPECT_EQ(work.next(), 0);
}

}  // namespace
}  // namespace lockstep::data

#include "data/tools/ordered_work.h"

#include <atomic>
#include <stdexcept>

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

TEST(OrderedWork, EndsWhenItIsLeftInTheMiddle) {
  OrderedWork<int, int> work(4, count_to(1'000'000), [](int i) { return i; });
  EXPECT_EQ(work.next(), 0);
}

}  // namespace
}  // namespace lockstep::data

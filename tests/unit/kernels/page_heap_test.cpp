#include "kernels/cpu/page_heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lockstep::test {
namespace {

using kernels::PageHeap;

constexpr std::size_t kKib = 1 << 10, kMib = 1 << 20;

// How many of the pages from `data` on have memory.
std::size_t pages_of(void* data, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> is_there((bytes + page - 1) / page);
  EXPECT_EQ(::mincore(data, bytes, is_there.data()), 0);
  return static_cast<std::size_t>(std::count_if(is_there.begin(), is_there.end(), [](auto p) { return (p & 1) != 0; }));
}

void fill(void* data, std::size_t bytes, unsigned char value) {
  std::fill_n(static_cast<unsigned char*>(data), bytes, value);
}

TEST(PageHeap, KeepsPagesUntilTheyAreReleased) {
  PageHeap heap(64 * kMib);
  void* data = heap.allocate(8 * kMib);
  fill(data, 8 * kMib, 1);
  heap.free(data);
  EXPECT_EQ(pages_of(data, 8 * kMib), 8 * kMib / static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(heap.statistics().kept, 8 * kMib);
  heap.release_unused();
  EXPECT_EQ(pages_of(data, 8 * kMib), 0U);
  EXPECT_EQ(heap.statistics().kept, 0);
  EXPECT_EQ(heap.allocate(8 * kMib), data);
  EXPECT_EQ(*static_cast<unsigned char*>(data), 0);
}

TEST(PageHeap, GivesTheSameMemoryAgain) {
  PageHeap heap(64 * kMib);
  void* first = heap.allocate(3 * kMib);
  void* second = heap.allocate(100 * kKib);
  heap.free(first);
  EXPECT_EQ(heap.allocate(3 * kMib), first);
  heap.free(second);
  EXPECT_EQ(heap.allocate(90 * kKib), second);
  EXPECT_EQ(heap.statistics().hits, 2);
  EXPECT_EQ(heap.statistics().misses, 2);
}

TEST(PageHeap, TakesTheSmallestPieceThatFits) {
  PageHeap heap(64 * kMib);
  void* large = heap.allocate(4 * kMib);
  void* between = heap.allocate(kMib);
  void* fitting = heap.allocate(2 * kMib);
  void* last = heap.allocate(kMib);
  heap.free(large);
  heap.free(fitting);
  EXPECT_EQ(heap.allocate(2 * kMib - 5), fitting);
  EXPECT_NE(between, last);
}

TEST(PageHeap, JoinsFreeNeighboursInAnyOrder) {
  std::vector<int> order = {0, 1, 2};
  do {
    PageHeap heap(6 * kMib);
    std::vector<void*> parts;
    for (int i = 0; i < 3; ++i) parts.push_back(heap.allocate(2 * kMib));
    for (const int i : order) heap.free(parts[static_cast<std::size_t>(i)]);
    EXPECT_EQ(heap.allocate(6 * kMib), parts[0]);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(PageHeap, HasNothingForWhatDoesNotFit) {
  PageHeap heap(4 * kMib);
  void* half = heap.allocate(2 * kMib);
  EXPECT_NE(half, nullptr);
  EXPECT_EQ(heap.allocate(64 * kMib), nullptr);
  EXPECT_EQ(heap.allocate(~std::size_t{0}), nullptr);
  EXPECT_EQ(heap.allocate(0), nullptr);
  heap.free(half);
  EXPECT_NE(heap.allocate(4 * kMib), nullptr);
}

TEST(PageHeap, OwnsItsBlocksAndNothingElse) {
  PageHeap heap(4 * kMib);
  void* block = heap.allocate(kMib);
  const auto other = std::make_unique<char>();
  EXPECT_TRUE(heap.owns(block));
  EXPECT_FALSE(heap.owns(other.get()));
  EXPECT_FALSE(heap.owns(nullptr));
  PageHeap refused(std::size_t{1} << 62);
  EXPECT_FALSE(refused.owns(block));
  EXPECT_FALSE(refused.owns(nullptr));
  EXPECT_EQ(refused.allocate(1), nullptr);
}

struct Block {
  unsigned char* data;
  std::size_t bytes;
  unsigned char value;
};

bool is_whole(const Block& block) {
  return std::all_of(block.data, block.data + block.bytes, [&](unsigned char each) { return each == block.value; });
}

// Two blocks that overlap would show each other's values.
TEST(PageHeap, GivesNoByteTwice_InAStormOfSizesAndThreads) {
  PageHeap heap(256 * kMib);
  std::mutex mutex;
  std::vector<Block> common;  // left by one thread, freed by another
  const auto storm = [&](unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<Block> own;
    for (int i = 0; i < 600; ++i) {
      const std::size_t bytes = 1 + random() % (random() % 8 == 0 ? 2 * kMib : 96 * kKib);
      const Block block{static_cast<unsigned char*>(heap.allocate(bytes)), bytes,
                        static_cast<unsigned char>(seed * 50 + random() % 50)};
      ASSERT_NE(block.data, nullptr);
      fill(block.data, block.bytes, block.value);
      own.push_back(block);
      if (i % 100 == 99) heap.release_unused();
      if (random() % 2 != 0) continue;
      std::swap(own[random() % own.size()], own.back());
      Block freed = own.back();
      own.pop_back();
      {
        const std::lock_guard lock(mutex);
        common.push_back(freed);
        std::swap(common[random() % common.size()], common.back());
        freed = common.back();
        common.pop_back();
      }
      ASSERT_TRUE(is_whole(freed));
      heap.free(freed.data);
    }
    const std::lock_guard lock(mutex);
    common.insert(common.end(), own.begin(), own.end());
  };
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(storm, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(heap.statistics().hits, 0);
  for (const Block& block : common) {
    EXPECT_TRUE(is_whole(block));
    heap.free(block.data);
  }
  const auto end = heap.statistics();
  EXPECT_EQ(end.in_use, 0);
  EXPECT_EQ(end.hits + end.misses, 4 * 600);
}

}  // namespace
}  // namespace lockstep::test

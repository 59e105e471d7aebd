// Messages through a store, with all ranks in one process.
#include <deque>
#include <numeric>

#include <gmock/gmock.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <lockstep/base/errors.h>

#include "comm/store_messages.h"

namespace lockstep::comm {
namespace {

class MessagesThroughAStore : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  std::unique_ptr<Transfer> send(int from, int to, int tag, const std::vector<int>& values) {
    return ranks_[static_cast<std::size_t>(from)].start_send(
        {reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(int)}, to, tag);
  }
  std::unique_ptr<Transfer> receive(int at, int from, int tag, std::vector<int>& values) {
    return ranks_[static_cast<std::size_t>(at)].start_receive(
        {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(int)}, from, tag);
  }

  c10::intrusive_ptr<c10d::HashStore> store_ = c10::make_intrusive<c10d::HashStore>();
  std::deque<StoreMessages> ranks_ = {StoreMessages(store_, {0, kRanks}), StoreMessages(store_, {1, kRanks}),
                                      StoreMessages(store_, {2, kRanks})};
};

TEST_F(MessagesThroughAStore, KeepTheirOrderAndTheirTags) {
  const std::vector<int> one = {1}, two = {2, 2}, three = {3};
  auto first = send(0, 1, 7, one), other = send(0, 1, 8, two), second = send(0, 1, 7, three);
  EXPECT_TRUE(second->poll() && other->poll() && first->poll());
  std::vector<int> a(1), b(1), c(2);
  auto of_other = receive(1, 0, 8, c), earlier = receive(1, 0, 7, a), later = receive(1, 0, 7, b);
  EXPECT_TRUE(later->poll() && earlier->poll() && of_other->poll());
  EXPECT_EQ(a, one);
  EXPECT_EQ(b, three);
  EXPECT_EQ(c, two);
}

TEST_F(MessagesThroughAStore, ComeFromAnyRankOnce) {
  std::vector<int> a(1), b(1);
  auto any = receive(0, kAnyRank, 5, a), from_two = receive(0, 2, 5, b);
  EXPECT_FALSE(any->poll());
  const std::vector<int> value = {22}, next = {23};
  EXPECT_TRUE(send(2, 0, 5, value)->poll());
  EXPECT_FALSE(from_two->poll());  // the one that was started first takes it
  EXPECT_TRUE(any->poll());
  EXPECT_EQ(any->peer(), 2);
  EXPECT_TRUE(send(2, 0, 5, next)->poll());
  EXPECT_TRUE(from_two->poll());
  EXPECT_EQ(a[0], 22);
  EXPECT_EQ(b[0], 23);
}

TEST_F(MessagesThroughAStore, LargeOnesFillTheStoreWithAFewChunksOnly) {
  std::vector<int> sent(5 * 1024 * 1024 / 2), received(sent.size());
  std::iota(sent.begin(), sent.end(), 0);
  auto sending = send(0, 1, 0, sent);
  auto receiving = receive(1, 0, 0, received);
  int rounds = 0;
  for (bool done = false; !done; ++rounds) {
    EXPECT_EQ(sending->poll(), rounds >= 2);
    EXPECT_LE(store_->getNumKeys(), static_cast<std::int64_t>(StoreMessages::kWindow));
    done = receiving->poll();
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(store_->getNumKeys(), 0);
}

TEST_F(MessagesThroughAStore, EmptyOnesPassAndWrongSizesAreRefused) {
  const std::vector<int> none, two = {1, 2};
  std::vector<int> nothing, one(1);
  EXPECT_TRUE(send(0, 1, 0, none)->poll());
  EXPECT_TRUE(receive(1, 0, 0, nothing)->poll());
  EXPECT_TRUE(send(0, 1, 0, two)->poll());
  EXPECT_THROW(receive(1, 0, 0, one)->poll(), RuntimeError);
}

}  // namespace
}  // namespace lockstep::comm

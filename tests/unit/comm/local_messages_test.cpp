#include <map>

#include <gmock/gmock.h>

#include "local_ranks.h"

namespace lockstep::comm::local {
namespace {

using ::testing::HasSubstr;
using Transfers = std::vector<std::unique_ptr<Transfer>>;

void finish(const Transfers& transfers) {
  const Deadline patience;
  for (bool all = false; !all;) {
    all = true;
    for (const auto& transfer : transfers) all = transfer->poll() && all;
    patience.check();
    std::this_thread::yield();
  }
}

void finish(std::unique_ptr<Transfer> transfer) {
  Transfers one;
  one.push_back(std::move(transfer));
  finish(one);
}

std::vector<int> numbers(int first, std::size_t count) {
  std::vector<int> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<int>(i);
  return values;
}

// As many ints as the ring has bytes.
constexpr std::size_t kMoreThanARing = Ring::kCapacity;

TEST(LocalMessages, OfAnySize_Arrive) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{1'000'003}}) {
    run_ranks(2, [&](LocalEngine& engine, int rank) {
      const auto sent = numbers(5, count);
      std::vector<int> received(count);
      if (rank == 0) {
        finish(engine.start_send(const_block_of(sent), 1, 3));
      } else {
        finish(engine.start_receive(block_of(received), 0, 3));
        ASSERT_EQ(received, sent);
      }
    });
  }
}

TEST(LocalMessages, OfOneTag_ArriveInTheOrderOfTheirStart) {
  run_ranks(2, [](LocalEngine& engine, int rank) {
    constexpr int kMessages = 500;
    std::vector<std::vector<int>> data;
    for (int i = 0; i < kMessages; ++i) data.push_back(numbers(rank == 0 ? i : -1, 1 + static_cast<std::size_t>(i)));
    Transfers transfers;
    for (auto& block : data) {
      transfers.push_back(rank == 0 ? engine.start_send(const_block_of(block), 1, 0)
                                    : engine.start_receive(block_of(block), 0, 0));
    }
    finish(transfers);
    for (int i = 0; i < kMessages; ++i) ASSERT_EQ(data[static_cast<std::size_t>(i)][0], i);
  });
}

TEST(LocalMessages, OfOtherTags_AreReceivedInAnotherOrderThanSent) {
  run_ranks(2, [](LocalEngine& engine, int rank) {
    const std::vector<int> tags = {4, 9, 2, 7};
    std::map<int, std::vector<int>> data;
    Transfers sends;
    if (rank == 0) {
      for (const int tag : tags) data[tag] = numbers(tag, kMoreThanARing);
      for (const int tag : tags) sends.push_back(engine.start_send(const_block_of(data[tag]), 1, tag));
      finish(sends);
    } else {
      for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
        std::vector<int> received(kMoreThanARing);
        finish(engine.start_receive(block_of(received), 0, *tag));
        ASSERT_EQ(received, numbers(*tag, kMoreThanARing));
      }
    }
  });
}

TEST(LocalMessages, BothWaysAtOnce_DoNotBlockEachOther) {
  run_ranks(2, [](LocalEngine& engine, int rank) {
    const auto sent = numbers(rank, 10 * kMoreThanARing);
    std::vector<int> received(sent.size());
    Transfers transfers;
    transfers.push_back(engine.start_send(const_block_of(sent), 1 - rank, 0));
    transfers.push_back(engine.start_receive(block_of(received), 1 - rank, 0));
    finish(transfers);
    ASSERT_EQ(received, numbers(1 - rank, sent.size()));
  });
}

TEST(LocalMessages, FromAnyRank_TellWhoSentThem) {
  run_ranks(4, [](LocalEngine& engine, int rank) {
    if (rank != 0) {
      const std::vector<int> sent = {rank};
      return finish(engine.start_send(const_block_of(sent), 0, 1));
    }
    std::vector<int> senders;
    for (int i = 1; i < 4; ++i) {
      std::vector<int> received(1);
      Transfers one;
      one.push_back(engine.start_receive(block_of(received), kAnyRank, 1));
      finish(one);
      ASSERT_EQ(one[0]->peer(), received[0]);
      senders.push_back(received[0]);
    }
    EXPECT_THAT(senders, ::testing::UnorderedElementsAre(1, 2, 3));
  });
}

TEST(LocalMessages, ToOneself_Arrive) {
  run_ranks(1, [](LocalEngine& engine, int) {
    const auto sent = numbers(1, 2 * kMoreThanARing);
    std::vector<int> received(sent.size());
    Transfers transfers;
    transfers.push_back(engine.start_receive(block_of(received), 0, 0));
    transfers.push_back(engine.start_send(const_block_of(sent), 0, 0));
    finish(transfers);
    EXPECT_EQ(received, sent);
  });
}

TEST(LocalMessages, BesideCollectives_MoveOnInAnotherThread) {
  run_ranks(2, [](LocalEngine& engine, int rank) {
    const auto sent = numbers(rank, 10 * kMoreThanARing);
    std::vector<int> received(sent.size());
    std::thread messages([&] {
      Transfers transfers;
      transfers.push_back(engine.start_send(const_block_of(sent), 1 - rank, 0));
      transfers.push_back(engine.start_receive(block_of(received), 1 - rank, 0));
      finish(transfers);
    });
    const Deadline patience;
    for (int i = 0; i < 20; ++i) {
      std::vector<float> values(30'000, 1.0F);
      engine.all_reduce(elements_of(values, c10::ScalarType::Float), Reduce::kSum, patience);
      EXPECT_EQ(values[29'999], 2.0F);
    }
    messages.join();
    EXPECT_EQ(received, numbers(1 - rank, sent.size()));
  });
}

TEST(LocalMessages, OfAnotherSize_AreAnError) {
  run_ranks(1, [](LocalEngine& engine, int) {
    const auto sent = numbers(0, 4);
    std::vector<int> received(3);
    finish(engine.start_send(const_block_of(sent), 0, 6));
    try {
      finish(engine.start_receive(block_of(received), 0, 6));
      FAIL() << "no error";
    } catch (const RuntimeError& error) {
      EXPECT_THAT(error.what(), HasSubstr("from rank 0 with tag 6"));
      EXPECT_THAT(error.what(), HasSubstr("found: 16 bytes"));
      EXPECT_THAT(error.what(), HasSubstr("expected: 12 bytes"));
    }
  });
}

TEST(LocalMessages, GivenUpBeforeTheyBegin_AreNeverHeardOf) {
  run_ranks(1, [](LocalEngine& engine, int) {
    const std::vector<int> first = {1}, second = {2};
    engine.start_send(const_block_of(first), 0, 0).reset();
    finish(engine.start_send(const_block_of(second), 0, 0));
    std::vector<int> received(1);
    finish(engine.start_receive(block_of(received), 0, 0));
    EXPECT_EQ(received, second);
  });
}

TEST(LocalMessages, GivenUpHalfway_AreAnErrorForTheReceiverOnly) {
  run_ranks(1, [](LocalEngine& engine, int) {
    const auto large = numbers(0, kMoreThanARing);
    const std::vector<int> next = {7};
    std::vector<int> received(large.size()), received_next(1);
    auto send = engine.start_send(const_block_of(large), 0, 0);
    EXPECT_FALSE(send->poll());
    send.reset();
    Transfers both;
    both.push_back(engine.start_send(const_block_of(next), 0, 1));
    auto receive = engine.start_receive(block_of(received), 0, 0);
    EXPECT_FALSE(receive->poll());
    EXPECT_TRUE(both[0]->poll());
    EXPECT_THROW(receive->poll(), RuntimeError);
    both.push_back(engine.start_receive(block_of(received_next), 0, 1));
    finish(both);
    EXPECT_EQ(received_next, next);
  });
}

TEST(LocalMessages, OfAReceiveThatWasGivenUp_DoNotBlockTheNext) {
  run_ranks(1, [](LocalEngine& engine, int) {
    const auto large = numbers(0, kMoreThanARing);
    const std::vector<int> next = {7};
    std::vector<int> received_next(1);
    Transfers transfers;
    transfers.push_back(engine.start_send(const_block_of(large), 0, 0));
    transfers.push_back(engine.start_send(const_block_of(next), 0, 0));
    EXPECT_FALSE(transfers[0]->poll());
    {
      std::vector<int> received(large.size());
      EXPECT_FALSE(engine.start_receive(block_of(received), 0, 0)->poll());
    }
    transfers.push_back(engine.start_receive(block_of(received_next), 0, 0));
    finish(transfers);
    EXPECT_EQ(received_next, next);
  });
}

TEST(LocalMessages, SetAside_AreBounded) {
  auto segment = std::make_shared<Segment>(1);
  auto outbox = std::make_shared<Outbox>(segment, 0);
  auto inbox = std::make_shared<Inbox>(segment, 0, /*most_bytes_aside=*/100);
  const std::vector<std::byte> sent(60);
  std::vector<std::byte> received(60);
  finish(Outbox::start_send(outbox, const_block_of(sent), 0, 1));
  finish(Outbox::start_send(outbox, const_block_of(sent), 0, 1));
  const auto receive = Inbox::start_receive(inbox, block_of(received), 0, 2);
  try {
    receive->poll();
    FAIL() << "no error";
  } catch (const RuntimeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 0 has sent a message with tag 1 of 60 bytes"));
    EXPECT_THAT(error.what(), HasSubstr("expected: at most 100 bytes"));
  }
}

}  // namespace
}  // namespace lockstep::comm::local

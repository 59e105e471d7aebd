#include <atomic>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "local_ranks.h"

namespace lockstep::comm::local {
namespace {

constexpr auto kFloat = c10::ScalarType::Float;
constexpr auto kLong = c10::ScalarType::Long;

// None, one, one slice, one slot, and more slots than there are, each with a crooked end.
constexpr std::size_t kCounts[] = {0, 1, 1000, 20'011, 40'009, 600'011};

class EveryNumberOfRanks : public ::testing::TestWithParam<int> {
 protected:
  int size() const { return GetParam(); }
  std::size_t ranks() const { return static_cast<std::size_t>(GetParam()); }
  Deadline patience_;
};

INSTANTIATE_TEST_SUITE_P(Local, EveryNumberOfRanks, ::testing::Values(1, 2, 3, 4, 9),
                         ::testing::PrintToStringParamName());

// A value that no rounding can hide: adding three of these in another order gives another sum.
float crooked(int rank, std::size_t i) {
  return std::ldexp(1.0F + static_cast<float>((i * 7919 + static_cast<std::size_t>(rank) * 104729) % 1013) / 1013.0F,
                    static_cast<int>(i + static_cast<std::size_t>(rank)) % 23);
}

// A number that tells who sent it, and what.
std::int64_t label(int rank, std::size_t i) {
  return std::int64_t{rank} << 40 | static_cast<std::int64_t>(i);
}

std::vector<std::int64_t> labels(int rank, std::size_t count) {
  std::vector<std::int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = label(rank, i);
  return values;
}

TEST_P(EveryNumberOfRanks, AllReduce_SumsExactlyOnEveryRank) {
  run_ranks(size(), [&](LocalEngine& engine, int rank) {
    for (const std::size_t count : kCounts) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((rank + 1) * static_cast<int>(i % 1000));
      engine.all_reduce(elements_of(values, kFloat), Reduce::kSum, patience_);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(values[i], static_cast<float>(size() * (size() + 1) / 2 * static_cast<int>(i % 1000)))
            << "element " << i << " of " << count << " on rank " << rank;
      }
    }
  });
}

TEST_P(EveryNumberOfRanks, AllReduce_AddsInTheOrderOfRanks) {
  run_ranks(size(), [&](LocalEngine& engine, int rank) {
    for (const std::size_t count : kCounts) {
      std::vector<float> values(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = crooked(rank, i);
      engine.all_reduce(elements_of(values, kFloat), Reduce::kSum, patience_);
      for (std::size_t i = 0; i < count; ++i) {
        float expected = crooked(0, i);
        for (int other = 1; other < size(); ++other) expected += crooked(other, i);
        ASSERT_EQ(values[i], expected) << "element " << i << " of " << count << " on rank " << rank;
      }
    }
  });
}

TEST_P(EveryNumberOfRanks, Reduce_GivesTheRootTheResult) {
  run_ranks(size(), [&](LocalEngine& engine, int rank) {
    for (const std::size_t count : kCounts) {
      for (const int root : {0, size() - 1}) {
        auto values = labels(rank, count);
        engine.reduce(elements_of(values, kLong), Reduce::kMax, root, patience_);
        if (rank == root) {
          ASSERT_EQ(values, labels(size() - 1, count));
        }
      }
    }
  });
}

TEST_P(EveryNumberOfRanks, ReduceScatter_GivesEachRankItsBlock) {
  run_ranks(size(), [&](LocalEngine& engine, int rank) {
    for (const std::size_t total : kCounts) {
      const std::size_t count = total / ranks();
      auto input = labels(rank, count * ranks());
      std::vector<std::int64_t> output(count);
      engine.reduce_scatter(elements_of(input, kLong), elements_of(output, kLong), Reduce::kMin, patience_);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(output[i], label(0, static_cast<std::size_t>(rank) * count + i)) << i << " of " << count;
      }
    }
  });
}

TEST_P(EveryNumberOfRanks, Broadcast_GivesAllWhatTheRootHas) {
  run_ranks(size(), [&](LocalEngine& engine, int rank) {
    for (const std::size_t count : kCounts) {
      for (const int root : {0, size() - 1}) {
        auto values = labels(rank, count);
        engine.broadcast(block_of(values), root, patience_);
        ASSERT_EQ(values, labels(root, count));
      }
    }
  });
}

TEST_P(EveryNumberOfRanks, AllGather_TakesSizesThatDiffer) {
  // Rank 0 has nothing, the last rank the most.
  const auto count_of = [&](int rank, std::size_t most) { return most * static_cast<std::size_t>(rank) / ranks(); };
  run_ranks(size(), [&](LocalEngine& engine, int rank) {
    for (const std::size_t most : kCounts) {
      const auto input = labels(rank, count_of(rank, most));
      std::vector<std::vector<std::int64_t>> outputs;
      for (int other = 0; other < size(); ++other) outputs.emplace_back(count_of(other, most));
      std::vector<Block> blocks;
      for (auto& output : outputs) blocks.push_back(block_of(output));
      engine.all_gather(const_block_of(input), blocks, patience_);
      for (int other = 0; other < size(); ++other) {
        ASSERT_EQ(outputs[static_cast<std::size_t>(other)], labels(other, count_of(other, most)));
      }
    }
  });
}

TEST_P(EveryNumberOfRanks, AllGather_WorksInPlace) {
  run_ranks(size(), [&](LocalEngine& engine, int rank) {
    const std::size_t count = 50'000;
    std::vector<std::vector<std::int64_t>> outputs(ranks(), std::vector<std::int64_t>(count));
    auto& own = outputs[static_cast<std::size_t>(rank)];
    own = labels(rank, count);
    std::vector<Block> blocks;
    for (auto& output : outputs) blocks.push_back(block_of(output));
    engine.all_gather(const_block_of(own), blocks, patience_);
    for (int other = 0; other < size(); ++other)
      ASSERT_EQ(outputs[static_cast<std::size_t>(other)], labels(other, count));
  });
}

TEST_P(EveryNumberOfRanks, Exchange_DeliversEachBlockToItsRank) {
  // Uneven, with empty blocks, and known to the two ends only.
  const auto count_of = [&](int from, int to, std::size_t total) {
    return static_cast<std::size_t>((from * 3 + to * 5) % 4) * total / ranks();
  };
  run_ranks(size(), [&](LocalEngine& engine, int rank) {
    for (const std::size_t total : kCounts) {
      std::vector<std::vector<std::int64_t>> inputs, outputs;
      for (int other = 0; other < size(); ++other) {
        inputs.push_back(labels(rank * 100 + other, count_of(rank, other, total)));
        outputs.emplace_back(count_of(other, rank, total));
      }
      std::vector<ConstBlock> sent;
      std::vector<Block> received;
      for (const auto& input : inputs) sent.push_back(const_block_of(input));
      for (auto& output : outputs) received.push_back(block_of(output));
      engine.exchange(sent, received, patience_);
      for (int other = 0; other < size(); ++other) {
        ASSERT_EQ(outputs[static_cast<std::size_t>(other)], labels(other * 100 + rank, count_of(other, rank, total)));
      }
    }
  });
}

TEST_P(EveryNumberOfRanks, Barrier_IsPassedByNoneBeforeAllAreThere) {
  std::atomic<int> arrived = 0;
  run_ranks(size(), [&](LocalEngine& engine, int) {
    for (int i = 1; i <= 100; ++i) {
      arrived.fetch_add(1);
      engine.barrier(patience_);
      ASSERT_GE(arrived.load(), i * size());
    }
  });
}

TEST_P(EveryNumberOfRanks, Collectives_FollowOneAnotherInAnyMixture) {
  run_ranks(size(), [&](LocalEngine& engine, int rank) {
    for (std::size_t i = 0; i < 200; ++i) {
      const int root = static_cast<int>(i % ranks());
      std::vector<float> sum(1 + i * 37 % 5000, 1.0F);
      engine.all_reduce(elements_of(sum, kFloat), Reduce::kSum, patience_);
      ASSERT_EQ(sum.back(), static_cast<float>(size()));
      auto values = labels(rank, 1 + i * 101 % 40'000);
      engine.broadcast(block_of(values), root, patience_);
      ASSERT_EQ(values.back(), label(root, values.size() - 1));
      engine.reduce(elements_of(values, kLong), Reduce::kMin, root, patience_);
      ASSERT_EQ(rank == root ? values.front() : label(root, 0), label(root, 0));
    }
  });
}

TEST(Local, AllReduce_WorksWithSixtyFourRanks) {
  const Deadline patience;
  run_ranks(64, [&](LocalEngine& engine, int rank) {
    std::vector<std::int64_t> values(30'000, rank);
    engine.all_reduce(elements_of(values, kLong), Reduce::kSum, patience);
    ASSERT_EQ(values, std::vector<std::int64_t>(30'000, 64 * 63 / 2));
  });
}

TEST(Local, AllReduce_RefusesWhatMakesNoSense) {
  const Deadline patience;
  run_ranks(1, [&](LocalEngine& engine, int) {
    std::vector<float> floats(4);
    std::vector<std::int64_t> integers(4);
    EXPECT_THROW(engine.all_reduce(elements_of(floats, kFloat), Reduce::kBitOr, patience), UsageError);
    EXPECT_THROW(engine.all_reduce(elements_of(integers, kLong), Reduce::kAverage, patience), UsageError);
    EXPECT_THROW(engine.all_reduce(elements_of(floats, c10::ScalarType::ComplexHalf), Reduce::kSum, patience),
                 UsageError);
  });
}

TEST(Local, Wait_EndsWhenPatienceDoes) {
  run_ranks(2, [&](LocalEngine& engine, int rank) {
    if (rank == 0) {
      EXPECT_THROW(engine.barrier(Deadline(std::chrono::milliseconds(100))), RuntimeError);
    }
  });
}

TEST(Local, Collectives_MoveMoreThanTwoGibibytes) {
  const Deadline patience(std::chrono::minutes(10));
  const std::size_t count = (std::size_t{1} << 31) + 12'345;
  run_ranks(2, [&](LocalEngine& engine, int rank) {
    std::vector<std::uint8_t> values(count, static_cast<std::uint8_t>(rank + 1));
    engine.all_reduce(elements_of(values, c10::ScalarType::Byte), Reduce::kSum, patience);
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), std::size_t{0}), 3 * count);
    values.back() = static_cast<std::uint8_t>(rank);
    engine.broadcast(block_of(values), 1, patience);
    ASSERT_EQ(values.back(), 1);
  });
}

}  // namespace
}  // namespace lockstep::comm::local

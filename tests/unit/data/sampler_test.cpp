// The order of samples: one for all numbers of ranks, none lost and none twice.
#include <algorithm>
#include <map>
#include <numeric>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/sampler.h>

namespace lockstep::data {
namespace {

using ::testing::ElementsAre;
using Samples = std::vector<std::int64_t>;

constexpr std::int64_t kSize = 103;
constexpr std::int64_t kGlobalBatch = 24;

std::vector<DistributedSampler> samplers(int ranks, const SamplerOptions& options, std::int64_t size = kSize) {
  std::vector<DistributedSampler> all;
  for (int rank = 0; rank < ranks; ++rank) all.emplace_back(size, RankId{rank, ranks}, options);
  return all;
}

// What all ranks together take in a step.
Samples step(std::vector<DistributedSampler>& all, std::int64_t global_batch = kGlobalBatch) {
  Samples together;
  for (DistributedSampler& sampler : all) {
    const Samples own = sampler.next(global_batch / static_cast<std::int64_t>(all.size()));
    together.insert(together.end(), own.begin(), own.end());
  }
  return together;
}

std::vector<Samples> epoch(std::vector<DistributedSampler> all) {
  std::vector<Samples> steps;
  while (!all.front().at_end(kGlobalBatch / static_cast<std::int64_t>(all.size()))) steps.push_back(step(all));
  return steps;
}

Samples joined(const std::vector<Samples>& steps) {
  Samples all;
  for (const Samples& each : steps) all.insert(all.end(), each.begin(), each.end());
  return all;
}

Samples sorted(Samples samples) {
  std::sort(samples.begin(), samples.end());
  return samples;
}

Samples all_samples() {
  Samples all(kSize);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(DistributedSampler, StepsAreTheSameForAnyNumberOfRanks) {
  for (const Order order : {Order::kShuffled, Order::kSequential}) {
    for (const Tail tail : {Tail::kPad, Tail::kDrop, Tail::kUneven}) {
      const SamplerOptions options{.order = order, .tail = tail, .seed = 5};
      const auto one = epoch(samplers(1, options));
      for (const int ranks : {2, 3, 8}) EXPECT_EQ(epoch(samplers(ranks, options)), one) << ranks;
    }
  }
}

TEST(DistributedSampler, TakesEachSampleOnce) {
  for (const int ranks : {1, 2, 3, 8}) {
    EXPECT_EQ(sorted(joined(epoch(samplers(ranks, {.tail = Tail::kUneven})))), all_samples());
  }
}

TEST(DistributedSampler, DropsOrFillsTheTail) {
  const auto dropped = epoch(samplers(3, {.tail = Tail::kDrop}));
  const auto filled = epoch(samplers(3, {.tail = Tail::kPad}));
  EXPECT_EQ(dropped.size(), 4);
  ASSERT_EQ(filled.size(), 5);
  EXPECT_EQ(filled.back().size(), kGlobalBatch);
  const Samples order = joined(filled);
  EXPECT_EQ(Samples(order.begin() + kSize, order.end()),
            Samples(order.begin(), order.begin() + 5 * kGlobalBatch - kSize));
  for (const Tail tail : {Tail::kPad, Tail::kDrop}) {
    const auto all = samplers(3, {.tail = tail});
    EXPECT_EQ(all.front().steps(kGlobalBatch / 3), tail == Tail::kDrop ? 4 : 5);
  }
}

TEST(DistributedSampler, DividesAnUnevenTailEvenly) {
  auto all = samplers(3, {.order = Order::kSequential, .tail = Tail::kUneven}, 11);
  EXPECT_THAT(all[0].next(2), ElementsAre(0, 1));
  EXPECT_THAT(all[0].next(2), ElementsAre(6, 7));
  all[1].next(2);
  EXPECT_THAT(all[1].next(2), ElementsAre(8, 9));
  all[2].next(2);
  EXPECT_THAT(all[2].next(2), ElementsAre(10));
  for (const auto& sampler : all) EXPECT_TRUE(sampler.at_end(2));
}

TEST(DistributedSampler, TheOrderIsThatOfSeedAndEpochAlone) {
  DistributedSampler sampler(kSize, {}, {.seed = 1}), same(kSize, {}, {.seed = 1}), other(kSize, {}, {.seed = 2});
  const Samples first = sampler.next(kSize);
  EXPECT_EQ(same.next(kSize), first);
  EXPECT_NE(other.next(kSize), first);
  sampler.set_epoch(1);
  EXPECT_NE(sampler.next(kSize), first);
  sampler.set_epoch(0);
  EXPECT_EQ(sampler.next(kSize), first);
}

// Each of six orders of three samples, and each place of a sample in a larger set.
TEST(DistributedSampler, OrdersAreEquallyLikely) {
  std::map<Samples, int> orders;
  std::map<std::int64_t, int> firsts;
  constexpr int kTimes = 6000;
  DistributedSampler three(3, {}), ten(10, {});
  for (int i = 0; i < kTimes; ++i) {
    three.set_epoch(i);
    ten.set_epoch(i);
    ++orders[three.next(3)];
    ++firsts[ten.next(1).front()];
  }
  ASSERT_EQ(orders.size(), 6);
  ASSERT_EQ(firsts.size(), 10);
  // Five deviations of a binomial distribution.
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 1000, 5 * 29);
  for (const auto& [sample, count] : firsts) EXPECT_NEAR(count, 600, 5 * 23);
}

TEST(DistributedSampler, GoesOnAtAnotherNumberOfRanks) {
  for (const int after : {1, 2, 3, 8}) {
    auto before = samplers(4, {.tail = Tail::kUneven, .seed = 9});
    for (auto& sampler : before) sampler.set_epoch(3);
    Samples taken;
    for (int i = 0; i < 2; ++i) {
      const Samples now = step(before);
      taken.insert(taken.end(), now.begin(), now.end());
    }
    auto resumed = samplers(after, {.tail = Tail::kUneven});
    for (auto& sampler : resumed) sampler.restore(before.front().state());
    EXPECT_EQ(resumed.front().state(), before.front().state());
    const Samples rest = joined(epoch(std::move(resumed)));
    EXPECT_EQ(rest, joined(epoch(std::move(before))));
    taken.insert(taken.end(), rest.begin(), rest.end());
    EXPECT_EQ(sorted(taken), all_samples());
  }
}

TEST(DistributedSampler, WeightsSayHowOftenASampleIsDrawn) {
  DistributedSampler sampler(4, {}, {.order = Order::kWeighted, .weights = {1, 0, 3, 0}});
  std::map<std::int64_t, int> counts;
  for (int i = 0; i < 1000; ++i) {
    sampler.set_epoch(i);
    for (const std::int64_t sample : sampler.next(4)) ++counts[sample];
  }
  EXPECT_EQ(counts.size(), 2);
  EXPECT_NEAR(counts[0], 1000, 5 * 28);
  EXPECT_NEAR(counts[2], 3000, 5 * 28);
}

TEST(DistributedSampler, RefusesWhatMakesNoSense) {
  EXPECT_THROW(DistributedSampler(0, {}), UsageError);
  EXPECT_THROW(DistributedSampler(3, {}, {.weights = {1, 1, 1}}), UsageError);
  EXPECT_THROW(DistributedSampler(3, {}, {.order = Order::kWeighted, .weights = {1, 1}}), UsageError);
  EXPECT_THROW(DistributedSampler(3, {}, {.order = Order::kWeighted, .weights = {0, 0, 0}}), UsageError);
  EXPECT_THROW(DistributedSampler(3, {}, {.order = Order::kWeighted, .weights = {1, -1, 1}}), UsageError);
  DistributedSampler sampler(3, {});
  EXPECT_THROW(sampler.next(0), UsageError);
  EXPECT_THROW(sampler.restore({.position = 4}), UsageError);
}

}  // namespace
}  // namespace lockstep::data

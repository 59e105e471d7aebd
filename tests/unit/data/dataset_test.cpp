// Decorators: sets made of other sets.
#include <atomic>

#include <ATen/ops/arange.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/dataset.h>

namespace lockstep::data {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

DatasetPtr numbers(std::int64_t size) {
  return tensor_dataset(at::arange(size), at::arange(size) * 10);
}

std::vector<std::int64_t> values(const Dataset& dataset) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < dataset.size(); ++i) all.push_back(dataset.get(i).data.item<std::int64_t>());
  return all;
}

TEST(Dataset, OfTensorsHasTheirRows) {
  const DatasetPtr dataset = numbers(3);
  EXPECT_EQ(dataset->size(), 3);
  EXPECT_EQ(dataset->get(2).target.item<std::int64_t>(), 20);
  EXPECT_THROW(tensor_dataset(at::arange(3), at::arange(4)), UsageError);
}

TEST(Subset, IsAPart) {
  EXPECT_THAT(values(*subset(numbers(10), 3, 2)), ElementsAre(3, 4));
  EXPECT_THROW(subset(numbers(10), 9, 2), UsageError);
  EXPECT_THROW(subset(numbers(10), -1, 2), UsageError);
}

TEST(Shuffled, HasAllSamplesInAnOrderThatTheSeedDecides) {
  EXPECT_THAT(values(*shuffled(numbers(5), 1)), UnorderedElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(values(*shuffled(numbers(50), 1)), values(*shuffled(numbers(50), 1)));
  EXPECT_NE(values(*shuffled(numbers(50), 1)), values(*shuffled(numbers(50), 2)));
}

TEST(Batched, PutsSamplesOnTopOfEachOther) {
  const DatasetPtr pairs = batched(numbers(5), 2);
  ASSERT_EQ(pairs->size(), 3);
  EXPECT_TRUE(pairs->get(1).data.equal(at::arange(2, 4)));
  EXPECT_TRUE(pairs->get(2).target.equal(at::arange(4, 5) * 10));
  EXPECT_EQ(batched(numbers(5), 2, /*drop_last=*/true)->size(), 2);
}

TEST(Cached, AsksOnceForWhatFitsIntoItsLimit) {
  std::atomic<int> asked = 0;
  const auto counted = mapped(numbers(4), [&](Sample sample) {
    ++asked;
    return sample;
  });
  const DatasetPtr cache = cached(counted, /*limit_bytes=*/3 * 16);  // of three samples, 8 bytes and a target of 8 each
  EXPECT_THAT(values(*cache), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(asked, 4);
  EXPECT_THAT(values(*cache), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(asked, 5);
}

}  // namespace
}  // namespace lockstep::data

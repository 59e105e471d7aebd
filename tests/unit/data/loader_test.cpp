// Batches from threads: in one order, each with the same bits whoever made them, and errors that name the sample.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/loader.h>

namespace lockstep::data {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::int64_t kSize = 103;

// Sample i is i, three times; its target is -i.
DatasetPtr numbers(std::int64_t size = kSize) {
  const at::Tensor range = at::arange(size);
  return tensor_dataset(range.to(at::kFloat).unsqueeze(1).expand({size, 3}).contiguous(), -range);
}

// As those, but some cannot be read.
DatasetPtr with_bad(std::set<std::int64_t> bad) {
  return mapped(numbers(), [bad = std::move(bad)](Sample sample) {
    if (const auto number = -sample.target.item<std::int64_t>(); bad.contains(number)) {
      throw SampleError("number " + std::to_string(number) + " is bad");
    }
    return sample;
  });
}

DistributedSampler sampler(int rank = 0, int ranks = 1, SamplerOptions options = {.seed = 7}) {
  return DistributedSampler(kSize, RankId{rank, ranks}, std::move(options));
}

std::vector<Batch> all_of(Loader& loader) {
  std::vector<Batch> batches;
  while (auto batch = loader.next()) batches.push_back(std::move(*batch));
  return batches;
}

std::vector<std::int64_t> samples_of(const std::vector<Batch>& batches) {
  std::vector<std::int64_t> samples;
  for (const Batch& batch : batches) samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
  return samples;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Loader, GivesTheSamplersOrderWhateverTheNumberOfWorkers) {
  for (const int workers : {1, 2, 3, 8}) {
    Loader loader(numbers(), sampler(), {.batch_size = 10, .workers = workers});
    DistributedSampler expected = sampler();
    const auto batches = all_of(loader);
    ASSERT_EQ(static_cast<std::int64_t>(batches.size()), loader.batches());
    for (const Batch& batch : batches) {
      EXPECT_EQ(batch.samples, expected.next(10));
      for (std::int64_t slot = 0; slot < 10; ++slot) {
        const auto sample = batch.samples[static_cast<std::size_t>(slot)];
        EXPECT_TRUE(batch.data[slot].eq(sample).all().item<bool>());
        EXPECT_EQ(batch.target[slot].item<std::int64_t>(), -sample);
      }
    }
  }
}

TEST(Loader, RanksTogetherGiveEachSampleOnce) {
  for (const int ranks : {1, 2, 3, 8}) {
    std::vector<std::int64_t> together;
    std::set<std::size_t> counts;
    for (int rank = 0; rank < ranks; ++rank) {
      Loader loader(numbers(), sampler(rank, ranks, {.tail = Tail::kUneven, .seed = 7}), {.batch_size = 24 / ranks});
      const auto batches = all_of(loader);
      counts.insert(batches.size());
      const auto own = samples_of(batches);
      together.insert(together.end(), own.begin(), own.end());
    }
    EXPECT_EQ(counts.size(), 1U) << "ranks have different numbers of batches";
    std::sort(together.begin(), together.end());
    std::vector<std::int64_t> all(kSize);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(together, all) << ranks << " ranks";
  }
}

TEST(Loader, GoesOnAtAnotherNumberOfRanksWhereTheLastBatchWasGivenOut) {
  std::vector<std::int64_t> seen;
  SamplerState state;
  for (int rank = 0; rank < 2; ++rank) {
    Loader loader(numbers(), sampler(rank, 2, {.tail = Tail::kUneven, .seed = 7}), {.batch_size = 6, .prefetch = 4});
    for (int step = 0; step < 3; ++step) {
      const Batch batch = *loader.next();
      seen.insert(seen.end(), batch.samples.begin(), batch.samples.end());
    }
    state = loader.state();
  }
  EXPECT_EQ(state.position, 36);
  for (int rank = 0; rank < 3; ++rank) {
    Loader loader(numbers(), sampler(rank, 3, {.tail = Tail::kUneven, .seed = 1}), {.batch_size = 5});
    loader.restore(state);
    const auto rest = samples_of(all_of(loader));
    seen.insert(seen.end(), rest.begin(), rest.end());
  }
  std::sort(seen.begin(), seen.end());
  std::vector<std::int64_t> all(kSize);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

TEST(Loader, EpochsHaveOrdersOfTheirOwnAndCanBeBegunAgain) {
  Loader loader(numbers(), sampler(), {.batch_size = 10, .workers = 3, .prefetch = 3});
  const auto first = samples_of(all_of(loader));
  loader.set_epoch(1);
  EXPECT_NE(samples_of(all_of(loader)), first);
  loader.set_epoch(0);
  loader.next();  // others are being made when the epoch is given up
  loader.set_epoch(0);
  EXPECT_EQ(samples_of(all_of(loader)), first);
}

TEST(Loader, ErrorOfABadSampleIsThatOfTheFirstInTheBatch) {
  for (const int workers : {1, 8}) {
    Loader loader(with_bad({23, 27, 29}), sampler(0, 1, {.order = Order::kSequential}),
                  {.batch_size = 20, .workers = workers});
    EXPECT_TRUE(loader.next());
    EXPECT_EQ(message_of([&] { loader.next(); }), "number 23 is bad");
  }
}

TEST(Loader, SkippedSamplesAreReplacedSoThatBatchesKeepTheirSize) {
  for (const int workers : {1, 4}) {
    Loader loader(with_bad({3, 4, 102}), sampler(0, 1, {.order = Order::kSequential, .tail = Tail::kUneven}),
                  {.batch_size = 10, .workers = workers, .on_error = OnError::kSkip, .max_bad = 3});
    for (int epoch = 0; epoch < 2; ++epoch) {
      loader.set_epoch(epoch);
      std::vector<std::int64_t> expected(kSize);
      std::iota(expected.begin(), expected.end(), 0);
      expected[3] = expected[4] = 5;
      expected[102] = 0;
      EXPECT_EQ(samples_of(all_of(loader)), expected);
    }
    EXPECT_EQ(loader.stats().bad, 3);
  }
}

TEST(Loader, SkipsNoMoreThanItMay) {
  Loader loader(with_bad({3, 50, 70}), sampler(), {.on_error = OnError::kSkip, .max_bad = 2});
  EXPECT_THAT(message_of([&] { all_of(loader); }),
              AllOf(HasSubstr("too many bad samples"), HasSubstr("at most 2"), HasSubstr("is bad")));
}

// All can be read until the loader is there.
TEST(Loader, SaysSoWhenNoSampleCanBeRead) {
  std::atomic<bool> gone = false;
  const auto vanishing = mapped(numbers(), [&](Sample sample) {
    if (gone) throw SampleError("it is gone");
    return sample;
  });
  Loader loader(vanishing, sampler(), {.on_error = OnError::kSkip, .max_bad = 1000});
  gone = true;
  EXPECT_THAT(message_of([&] { loader.next(); }), HasSubstr("no sample of the data set can be read"));
}

// Blocks at one sample until it is let go.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return open_; });
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

TEST(Loader, BatchThatIsNotMadeInTimeNamesTheSample) {
  Gate gate;
  const auto slow = mapped(numbers(), [&](Sample sample) {
    if (sample.target.item<std::int64_t>() == -5) gate.wait();
    return sample;
  });
  Loader loader(slow, sampler(0, 1, {.order = Order::kSequential}), {.batch_size = 10, .timeout = 50ms});
  EXPECT_THAT(message_of([&] { loader.next(); }), AllOf(HasSubstr("not made within"), HasSubstr("sample 5")));
  gate.open();
  EXPECT_EQ(loader.next()->samples.front(), 0) << "nothing is lost by the timeout";
}

TEST(Loader, MemoryIsUsedAgainButNotWhileSomebodyHoldsIt) {
  Loader loader(numbers(1000), DistributedSampler(1000, {}, {.order = Order::kSequential}),
                {.batch_size = 10, .workers = 4, .prefetch = 2});
  const Batch kept = *loader.next();
  const at::Tensor view = loader.next()->data.narrow(0, 0, 1);
  std::set<const void*> places;
  while (const auto batch = loader.next()) {
    places.insert(batch->data.const_data_ptr());
    EXPECT_NE(batch->data.const_data_ptr(), view.const_data_ptr());
  }
  EXPECT_LE(places.size(), 5U);
  EXPECT_TRUE(kept.data.select(1, 0).eq(at::arange(10)).all().item<bool>());
  EXPECT_TRUE(view.eq(10).all().item<bool>());
}

TEST(Loader, SamplesThatDoNotFitTogetherAreRefused) {
  const auto uneven = mapped(numbers(), [](Sample sample) {
    if (sample.target.item<std::int64_t>() == -7) sample.data = at::full({2}, 1.0F);
    return sample;
  });
  Loader loader(uneven, sampler(0, 1, {.order = Order::kSequential}));
  EXPECT_THAT(message_of([&] { loader.next(); }),
              AllOf(HasSubstr("sample 7 does not fit"), HasSubstr("[2]"), HasSubstr("[3]")));
}

TEST(Loader, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_THROW(Loader(numbers(), sampler(), {.batch_size = 0}), UsageError);
  EXPECT_THROW(Loader(numbers(), sampler(), {.workers = 0}), UsageError);
  EXPECT_THROW(Loader(numbers(), sampler(), {.prefetch = 0}), UsageError);
  EXPECT_THROW(Loader(numbers(), sampler(), {.timeout = 0ms}), UsageError);
}

}  // namespace
}  // namespace lockstep::data

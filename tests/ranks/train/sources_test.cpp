// Data on several ranks: shared out exactly once, the same on all of them, and brought by one.
#include <algorithm>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/train/sources.h>

#include "small_data.h"
#include "throws_with.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;
using train::OpenedData;
using train::RunConfig;
using train::Sources;

// Rank 0's folder, which all ranks see.
class RankSources : public ::testing::Test {
 protected:
  RankSources() : path_(world().broadcast_text(own_.path().string())) {}
  ~RankSources() override { world().barrier(); }  // before rank 0's folder goes

  std::filesystem::path pictures(std::int64_t count) {
    const auto path = path_ / (std::to_string(count) + ".lsp");
    if (world().rank() == 0) write_pictures(path, count, 4);
    world().barrier();
    return path;
  }

  TemporaryFolder own_;
  std::filesystem::path path_;
};

Sources sources_of(const RunConfig& config, std::int64_t batch = 2) {
  return make_sources(config, OpenedData(config.data, world()), *make_net("test_pool"), world(), at::kCPU, batch);
}

RunConfig config_of(const std::string& path) {
  RunConfig config;
  config.data.path = path;
  config.data.tail = "uneven";
  config.data.transforms = config.data.test_transforms = {
      {.name = "normalize", .parameters = {{"mean", std::vector{0.5}}, {"std", std::vector{0.5}}}}};
  return config;
}

struct Seen {
  std::vector<std::int64_t> samples;  // of all ranks, sorted
  std::vector<std::int64_t> labels;   // theirs, in the order of the samples
  std::int64_t batches = 0;           // of this rank
  bool empty_batch = false;           // on some rank
};

Seen see(data::BatchSource& source) {
  std::vector<std::int64_t> own;
  std::int64_t empty = 0;
  Seen seen;
  while (const auto batch = source.next()) {
    ++seen.batches;
    EXPECT_EQ(batch->data.size(0), static_cast<std::int64_t>(batch->samples.size()));
    EXPECT_EQ(batch->target.size(0), static_cast<std::int64_t>(batch->samples.size()));
    if (batch->samples.empty()) empty = 1;
    for (std::size_t i = 0; i < batch->samples.size(); ++i) {
      own.push_back(batch->samples[i] << 8 | batch->target[static_cast<std::int64_t>(i)].item<std::int64_t>());
    }
  }
  std::vector<std::int64_t> all;
  for (const at::Tensor& part : world().all_gather(torch::tensor(own, at::kLong))) {
    all.insert(all.end(), part.const_data_ptr<std::int64_t>(), part.const_data_ptr<std::int64_t>() + part.numel());
  }
  std::sort(all.begin(), all.end());
  for (const std::int64_t both : all) {
    seen.samples.push_back(both >> 8);
    seen.labels.push_back(both & 255);
  }
  seen.empty_batch = world().all_reduce_value(empty, Reduce::kMax) == 1;
  EXPECT_EQ(world().all_reduce_value(seen.batches, Reduce::kMax), seen.batches) << "ranks have equally many batches";
  return seen;
}

TEST_F(RankSources, EvaluationTakesEverySampleExactlyOnce) {
  bool some_batch_was_empty = false;
  for (const std::int64_t size : {1, 2, 3, 7, 16, 31}) {
    RunConfig config = config_of(pictures(size));
    config.data.test_path = config.data.path;
    for (const std::int64_t batch : {1, 2, 5, 64}) {
      config.evaluation.batch_size_per_rank = batch;
      for (const char* cache : {"none", "memory", "device"}) {
        config.data.cache = cache;
        Sources sources = sources_of(config);
        ASSERT_EQ(sources.test_samples, size);
        for (int epoch = 0; epoch < 2; ++epoch) {
          sources.test->set_epoch(epoch);
          const Seen seen = see(*sources.test);
          EXPECT_EQ(seen.batches, sources.test->batches());
          ASSERT_EQ(static_cast<std::int64_t>(seen.samples.size()), size) << size << ", " << batch << ", " << cache;
          for (std::int64_t i = 0; i < size; ++i) {
            EXPECT_EQ(seen.samples[static_cast<std::size_t>(i)], i);
            EXPECT_EQ(seen.labels[static_cast<std::size_t>(i)], i % 3);
          }
          some_batch_was_empty = some_batch_was_empty || seen.empty_batch;
        }
      }
    }
  }
  EXPECT_EQ(some_batch_was_empty, world().size() > 1);
}

TEST_F(RankSources, RandomNumbersAreSharedOutToo) {
  RunConfig config = config_of("synthetic");
  for (const std::int64_t samples : {2, 13}) {
    config.data.samples = samples;
    Sources sources = sources_of(config);
    const Seen train = see(*sources.train), test = see(*sources.test);
    EXPECT_EQ(static_cast<std::int64_t>(train.samples.size()), samples);
    EXPECT_EQ(std::adjacent_find(train.samples.begin(), train.samples.end()), train.samples.end());
    EXPECT_EQ(static_cast<std::int64_t>(test.samples.size()), sources.test_samples);
  }
}

TEST_F(RankSources, StepOfAllRanksIsWhatIsAskedFor) {
  RunConfig config = config_of("synthetic");
  config.data.tail = "drop";
  config.data.samples = 4 * world().size() - 1;
  EXPECT_THAT([&] { sources_of(config, 4); },
              ThrowsWith<UsageError>("4 for each of " + std::to_string(world().size())));
  config.data.samples = 4 * world().size();
  EXPECT_EQ(sources_of(config, 4).train->batches(), 1);
}

TEST_F(RankSources, EveryRankIsToldWhenOneFindsNoData) {
  if (world().size() == 1) return;
  RunConfig config = config_of(pictures(4));
  const int last = world().size() - 1;
  if (world().rank() == last) config.data.path = "not/here";
  try {
    OpenedData(config.data, world());
    FAIL() << "it was opened";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no data set 'not/here'"));
    // It is that rank's business to tell of it.
    EXPECT_EQ(error.parts().rank ? error.parts().rank->rank : world().rank(), last);
  }
}

TEST_F(RankSources, EveryRankFailsWhenOneCannotMakeBatches) {
  if (world().size() == 1) return;
  RunConfig config = config_of(pictures(4));
  if (world().rank() == 1) config.data.cache = "devise";
  EXPECT_THAT([&] { sources_of(config); }, ThrowsWith<UsageError>("data.cache cannot be 'devise'"));
}

TEST_F(RankSources, RanksThatFindDifferentDataAreRefused) {
  if (world().size() == 1) return;
  const auto few = pictures(4), more = pictures(5);
  const RunConfig config = config_of(world().rank() == 0 ? few : more);
  EXPECT_THAT([&] { OpenedData(config.data, world()); }, ThrowsWith<UsageError>("let every node have the same data"));
}

TEST_F(RankSources, SetThatCannotBeBroughtIsAnErrorOnEveryRank) {
  train::DataKeys keys{.path = (path_ / "new").string(), .fetch = true, .set = "no-such-set"};
  EXPECT_THAT([&] { OpenedData(keys, world()); }, ThrowsWith<RuntimeError>("'no-such-set' could not be brought"));
  keys.set = "";
  EXPECT_THAT([&] { OpenedData(keys, world()); }, ThrowsWith<RuntimeError>("'new' could not be brought"));
}

}  // namespace
}  // namespace lockstep::test

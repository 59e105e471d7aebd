#include <lockstep/parallel/sync_batch_norm.h>

#include <lockstep/base/errors.h>

#include "norm_check.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using torch::nn::BatchNormOptions;

// Rank r has 2 + r samples.
std::vector<std::int64_t> uneven() {
  std::vector<std::int64_t> batches(static_cast<std::size_t>(world().size()));
  std::iota(batches.begin(), batches.end(), 2);
  return batches;
}

std::vector<std::int64_t> even(std::int64_t samples) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(world().size()), samples);
}

void check(const NormCase& test) {
  SyncBatchNorm synced(test.options, world());
  synced->to(test.parameters);
  expect_as_one_batch(test, synced, world());
}

TEST(SyncBatchNorm, IsPlainOverTheBatchesOfAllRanks_InTwoToFiveDimensions) {
  check({.sample = {5}, .batches = uneven()});
  check({.sample = {5, 7}, .batches = uneven()});
  check({.sample = {5, 4, 3}, .batches = uneven()});
  check({.sample = {5, 4, 3, 2}, .batches = uneven()});
  check({.sample = {1, 4, 3}, .batches = even(3)});
}

TEST(SyncBatchNorm, TakesEveryOption) {
  const auto options = [] { return BatchNormOptions(5); };
  for (const auto& chosen : {options().momentum(std::nullopt), options().affine(false),
                             options().track_running_stats(false), options().eps(0.1).momentum(0.3)}) {
    check({.sample = {5, 4, 3}, .batches = uneven(), .options = chosen});
  }
}

TEST(SyncBatchNorm, TakesARankWithoutSamples) {
  if (world().size() == 1) GTEST_SKIP() << "somebody must have samples";
  for (const int empty : {0, world().size() - 1}) {
    auto batches = uneven();
    batches[static_cast<std::size_t>(empty)] = 0;
    check({.sample = {5, 4, 3}, .batches = batches});
  }
}

TEST(SyncBatchNorm, TakesOneValueOnARankIfOthersHaveSome) {
  if (world().size() == 1) GTEST_SKIP() << "that is one value in all";
  check({.sample = {5}, .batches = even(1)});
}

TEST(SyncBatchNorm, WorksInShorterTypesWithParametersInFloat32) {
  // Relative to the largest value, a few times the rounding of the type.
  check({.sample = {5, 4, 3},
         .batches = uneven(),
         .input = torch::kFloat,
         .parameters = torch::kFloat,
         .tolerance = 1e-5});
  for (const auto type : {torch::kBFloat16, torch::kHalf}) {
    check({.sample = {5, 4, 3}, .batches = uneven(), .input = type, .parameters = torch::kFloat, .tolerance = 2e-2});
    check({.sample = {5, 4, 3},
           .batches = uneven(),
           .options = BatchNormOptions(5).affine(false),
           .input = type,
           .parameters = torch::kFloat,
           .tolerance = 2e-2});
  }
}

TEST(SyncBatchNorm, KeepsChannelsLast) {
  check({.sample = {5, 4, 3}, .batches = uneven(), .layout = at::MemoryFormat::ChannelsLast});
  check({.sample = {5, 4, 3, 2}, .batches = uneven(), .layout = at::MemoryFormat::ChannelsLast3d});
}

TEST(SyncBatchNorm, KeepsASmallVarianceBesideALargeMean) {
  SyncBatchNorm synced(BatchNormOptions(1).affine(false).eps(0), world());
  torch::manual_seed(3);
  const at::Tensor all = torch::randn({16 * world().size(), 1}) * 0.01 + 100;
  const at::Tensor expected =
      (all.to(torch::kDouble) - all.to(torch::kDouble).mean()) / all.to(torch::kDouble).var(/*unbiased=*/false).sqrt();
  const std::int64_t first = 16 * world().rank();
  // The input itself is only known to 1e-7 * 100 / 0.01.
  expect_near("output", synced->forward(all.narrow(0, first, 16)), expected.narrow(0, first, 16), 2e-3);
}

TEST(SyncBatchNorm, SendsNothingInEvaluation) {
  SyncBatchNorm synced(BatchNormOptions(5), world());
  synced->eval();
  const at::Tensor input = torch::randn({2, 5});
  if (world().rank() == 0) {
    EXPECT_TRUE(synced->forward(input).allclose(input, 1e-4));
  }
  world().barrier();
}

TEST(SyncBatchNorm, NeedsMoreThanOneValuePerChannelInAll) {
  SyncBatchNorm synced(BatchNormOptions(5), world());
  const std::int64_t samples = world().rank() == world().size() - 1 ? 1 : 0;
  EXPECT_THAT(
      [&] {
        synced->forward(torch::randn({samples, 5}));
      },
      ThrowsMessage<UsageError>(HasSubstr("more than 1 value per channel")));
}

TEST(SyncBatchNorm, HasNoSecondDerivative) {
  if (world().size() == 1) GTEST_SKIP() << "alone it is plain normalization, which has one";
  SyncBatchNorm synced(BatchNormOptions(5), world());
  const at::Tensor input = torch::randn({4, 5}).requires_grad_();
  const at::Tensor sum = synced->forward(input).sum();
  EXPECT_THAT([&] { torch::autograd::grad({sum}, {input}, {}, true, /*create_graph=*/true); },
              ThrowsMessage<UsageError>(HasSubstr("second derivative")));
}

TEST(SyncBatchNorm, RefusesDifferentChannelsOnEveryRank) {
  if (world().size() == 1) GTEST_SKIP() << "nobody to differ from";
  const std::int64_t channels = world().rank() == 1 ? 6 : 5;
  EXPECT_THAT([&] { SyncBatchNorm(BatchNormOptions(channels), world()); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("5 channels on rank 0"), HasSubstr("6 channels on rank 1"))));
}

}  // namespace
}  // namespace lockstep::test

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/registry.h>
#include <lockstep/parallel/sync_batch_norm.h>

#include "norm_check.h"
#include "same_answers.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using torch::nn::BatchNorm1d;
using torch::nn::BatchNorm2d;
using torch::nn::Sequential;

// A module with a sequential in it, which can be an element of another.
struct NormalizedReluImpl : torch::nn::Module {
  explicit NormalizedReluImpl(std::int64_t channels)
      : body(register_module("body", Sequential(BatchNorm1d(channels), torch::nn::ReLU()))) {}
  torch::Tensor forward(const torch::Tensor& x) { return body->forward(x); }
  Sequential body;
};
TORCH_MODULE(NormalizedRelu);

// With a normalization of each kind: a member of ours, and an element of a sequential.
struct NormalizedNetImpl : torch::nn::Module {
  NormalizedNetImpl() { to(torch::kDouble); }
  torch::Tensor forward(const torch::Tensor& x) {
    return output(hidden->forward(torch::relu(norm(convolution(x))).flatten(1)));
  }
  torch::nn::Conv2d convolution = register_module("convolution", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 5, 3)));
  nn::BatchNorm norm = register_module("norm", nn::BatchNorm(5));
  Sequential hidden = register_module("hidden", Sequential(torch::nn::Linear(5 * 6 * 6, 17), NormalizedRelu(17)));
  torch::nn::Linear output = register_module("output", torch::nn::Linear(17, 3));
};
TORCH_MODULE(NormalizedNet);

struct UserNetImpl : torch::nn::Module {
  BatchNorm2d norm = register_module("norm", BatchNorm2d(3));
};

TEST(ConvertSyncBatchNorm, MakesAnElementOfASequentialOneOverAllRanks) {
  Sequential synced{BatchNorm2d(5)};
  synced->to(torch::kDouble);
  EXPECT_EQ(convert_sync_batch_norm(*synced, world()), 1);
  NormCase test{.sample = {5, 4, 3}, .batches = {2, 3, 4, 5}};
  test.batches.resize(static_cast<std::size_t>(world().size()));
  expect_as_one_batch(test, synced, world());
}

TEST(ConvertSyncBatchNorm, KeepsParametersBuffersNamesAndTraining) {
  NormalizedNet net;
  net->hidden->eval();
  const auto parameters = net->named_parameters(), buffers = net->named_buffers();
  EXPECT_EQ(convert_sync_batch_norm(*net, world()), 2);
  const auto kept_parameters = net->named_parameters(), kept_buffers = net->named_buffers();
  ASSERT_EQ(kept_parameters.keys(), parameters.keys());
  ASSERT_EQ(kept_buffers.keys(), buffers.keys());
  for (const auto& parameter : parameters) EXPECT_TRUE(kept_parameters[parameter.key()].is_same(parameter.value()));
  for (const auto& buffer : buffers) EXPECT_TRUE(kept_buffers[buffer.key()].is_same(buffer.value()));
  for (const auto& module : net->hidden->modules()) EXPECT_FALSE(module->is_training());
  EXPECT_TRUE(net->norm->is_training());
}

TEST(ConvertSyncBatchNorm, MakesAModelOfTheRegistryOneOverAllRanks) {
  const auto make = [] {
    torch::manual_seed(1);
    const auto model = nn::make_model("resnet18", {.num_classes = 3, .stem = nn::Stem::kCifar3x3});
    model->to(torch::kDouble);
    return model;
  };
  const auto model = make(), alone = make();
  EXPECT_EQ(convert_sync_batch_norm(*model, world()), 20);
  const at::Tensor all = torch::randn({2 * world().size(), 3, 16, 16}, torch::kDouble);
  const std::int64_t first = 2 * world().rank();
  const at::Tensor found = model->forward(all.narrow(0, first, 2)), expected = alone->forward(all);
  found.square().sum().backward();
  expected.square().sum().backward();
  // Each of 20 normalizations may double an error of rounding.
  expect_near("output", found, expected.narrow(0, first, 2), 1e-9);
  for (const auto& parameter : model->named_parameters()) {
    world().all_reduce(parameter->grad());
    expect_near(parameter.key(), parameter->grad(), alone->named_parameters()[parameter.key()].grad(), 1e-9);
  }
}

TEST(ConvertSyncBatchNorm, NamesWhatItCannotReplace) {
  NormalizedNet net;
  net->register_module("user", std::make_shared<UserNetImpl>());
  EXPECT_THAT([&] { convert_sync_batch_norm(*net, world()); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("'user.norm'"), HasSubstr("lockstep::nn::BatchNorm"))));
  EXPECT_FALSE(net->norm->normalizer());
}

TEST(ConvertSyncBatchNorm, RefusesDifferentModulesOnEveryRank) {
  if (world().size() == 1) GTEST_SKIP() << "nobody to differ from";
  Sequential net{BatchNorm1d(4)};
  if (world().rank() == 1) net->push_back(BatchNorm1d(4));
  EXPECT_THAT([&] { convert_sync_batch_norm(*net, world()); },
              ThrowsMessage<UsageError>(HasSubstr("no more on rank 0, '1' with 4 channels on rank 1")));
}

void step(torch::nn::Module& net, double lr) {
  torch::NoGradGuard no_gradients;
  for (auto& parameter : net.parameters()) parameter.sub_(parameter.grad(), lr);
}

TEST(SameAnswers, RanksWithSyncBatchNormTrainAsOneRankOnAllSamples) {
  torch::manual_seed(1);
  NormalizedNet net;
  torch::manual_seed(1);
  NormalizedNet alone;
  convert_sync_batch_norm(*net, world());
  for (int i = 0; i < kSteps; ++i) {
    const Samples mine = rank_batch(i, world().rank(), world().size()), all = global_batch(i, world().size());
    net->zero_grad();
    loss_of(net(mine.inputs), mine).backward();
    for (const auto& parameter : net->parameters()) world().all_reduce(parameter.grad(), Reduce::kAverage);
    step(*net, 0.05);
    alone->zero_grad();
    loss_of(alone(all.inputs), all).backward();
    step(*alone, 0.05);
  }
  EXPECT_LE(difference(*net, *alone), 1e-12);
  for (const auto& buffer : alone->named_buffers()) {
    expect_near(buffer.key(), net->named_buffers()[buffer.key()], buffer.value(), 1e-12);
  }
}

}  // namespace
}  // namespace lockstep::test

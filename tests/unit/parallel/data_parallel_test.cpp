#include <lockstep/parallel/data_parallel.h>

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/nn/registry.h>

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<at::Device> cpus(std::size_t count) {
  return std::vector<at::Device>(count, at::kCPU);
}

torch::nn::Sequential make_net() {
  torch::manual_seed(2);
  torch::nn::Sequential net(torch::nn::Linear(4, 6), torch::nn::Tanh(), torch::nn::Linear(6, 3));
  net->to(torch::kDouble);
  return net;
}

// The largest relative difference between the gradients of two nets.
double difference(const torch::nn::Module& a, const torch::nn::Module& b) {
  double largest = 0;
  const auto of_a = a.parameters(), of_b = b.parameters();
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    const double scale = of_b[i].grad().abs().max().item<double>();
    largest = std::max(largest, (of_a[i].grad() - of_b[i].grad()).abs().max().item<double>() / scale);
  }
  return largest;
}

// What a module of the test saw in forward.
struct Seen {
  std::vector<std::int64_t> batches;
  std::vector<bool> gradients, autocasts, training;
};

// Writes down what it sees, and throws for a batch of one sample.
struct WitnessImpl : torch::nn::Cloneable<WitnessImpl> {
  explicit WitnessImpl(std::shared_ptr<Seen> notes) : seen(std::move(notes)) {}
  void reset() override {}
  torch::Tensor forward(const torch::Tensor& x) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    seen->batches.push_back(x.size(0));
    seen->gradients.push_back(torch::GradMode::is_enabled());
    seen->autocasts.push_back(at::autocast::is_autocast_enabled(at::kCPU) &&
                              at::autocast::get_autocast_dtype(at::kCPU) == at::kHalf);
    seen->training.push_back(is_training());
    TORCH_CHECK(x.size(0) != 1, "one sample is too few");
    if (x.size(0) == 2) throw UsageError("two samples are too few");
    return x;
  }
  std::shared_ptr<Seen> seen;
};
TORCH_MODULE(Witness);

class Devices : public ::testing::TestWithParam<std::pair<std::size_t, std::int64_t>> {};

TEST_P(Devices, GiveTheGradientsOfOneDeviceOnTheWholeBatch) {
  const auto [devices, samples] = GetParam();
  auto net = make_net(), alone = make_net();
  DataParallel parallel(net, cpus(devices));
  for (int step = 0; step < 3; ++step) {
    const auto input = torch::randn({samples, 4}, torch::kDouble);
    const auto own = input.clone().requires_grad_(), other = input.clone().requires_grad_();
    net->zero_grad();
    alone->zero_grad();
    const auto found = parallel.forward(own), expected = alone->forward(other);
    found.square().mean().backward();
    expected.square().mean().backward();
    EXPECT_TRUE(found.allclose(expected, 1e-12, 1e-12));
    EXPECT_TRUE(own.grad().allclose(other.grad(), 1e-12, 1e-12));
    EXPECT_LE(difference(*net, *alone), 1e-12);
    torch::NoGradGuard no_gradients;
    for (auto* module : {&net, &alone}) {
      for (auto& parameter : (*module)->parameters()) parameter.sub_(parameter.grad(), 0.1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DataParallel, Devices,
                         ::testing::Values(std::pair{1, 5}, std::pair{2, 8}, std::pair{2, 7}, std::pair{3, 8},
                                           std::pair{4, 3}, std::pair{4, 1}));

TEST(DataParallel, RunsModelsOfTheRegistry) {
  const auto model = nn::make_model("resnet18", {.num_classes = 4, .stem = nn::Stem::kCifar3x3});
  model->to(torch::kDouble);
  model->eval();
  DataParallel parallel(model, cpus(2));
  const auto input = torch::randn({3, 3, 16, 16}, torch::kDouble);
  EXPECT_TRUE(parallel.forward(input).allclose(model->forward(input), 1e-12, 1e-12));
}

TEST(DataParallel, SharesParametersOnOneDeviceAndFollowsThemToAnotherType) {
  auto net = make_net();
  DataParallel parallel(net, cpus(2));
  const auto input = torch::randn({4, 4});
  parallel.forward(input.to(torch::kDouble)).sum().backward();
  net->to(torch::kFloat);
  net->zero_grad();
  parallel.forward(input).sum().backward();
  EXPECT_EQ(net->parameters().front().grad().scalar_type(), torch::kFloat);
  // A write that no version counter sees.
  net->parameters().front().data_ptr<float>()[0] = 5;
  EXPECT_TRUE(parallel.forward(input).allclose(net->forward(input)));
}

TEST(DataParallel, CopiesToAnotherDeviceWhatHasChanged) {
  auto net = make_net();
  // A CPU with a number is not equal to one without, so its replica gets copies.
  DataParallel parallel(net, {at::Device(at::kCPU), at::Device(at::kCPU, 0)});
  const auto input = torch::randn({4, 4}, torch::kDouble);
  const auto is_equal = [&] { return parallel.forward(input).allclose(net->forward(input), 1e-12, 1e-12); };
  EXPECT_TRUE(is_equal());
  {
    torch::NoGradGuard no_gradients;
    net->parameters().front().add_(1);
  }
  EXPECT_TRUE(is_equal());
  // What no version counter sees is not copied until it is asked for.
  net->parameters().front().data_ptr<double>()[0] += 1;
  EXPECT_FALSE(is_equal());
  parallel.refresh();
  EXPECT_TRUE(is_equal());
  net->zero_grad();
  parallel.forward(input).square().mean().backward();
  auto alone = make_net();
  for (std::size_t i = 0; i < alone->parameters().size(); ++i) {
    alone->parameters()[i].set_data(net->parameters()[i].detach().clone());
  }
  alone->forward(input).square().mean().backward();
  EXPECT_LE(difference(*net, *alone), 1e-12);
}

TEST(DataParallel, KeepsFrozenParametersFrozen) {
  auto net = make_net();
  DataParallel parallel(net, cpus(2));
  const auto input = torch::randn({4, 4}, torch::kDouble);
  parallel.forward(input).sum().backward();
  for (const bool trains : {false, true}) {
    net->zero_grad();
    net->parameters().front().requires_grad_(trains);
    parallel.forward(input).sum().backward();
    EXPECT_EQ(net->parameters().front().grad().defined(), trains);
    EXPECT_TRUE(net->parameters().back().grad().defined());
  }
}

TEST(DataParallel, KeepsTheRunningStatisticsOfTheFirstDevice) {
  torch::nn::Sequential net(torch::nn::BatchNorm1d(2));
  DataParallel parallel(net, cpus(2));
  const auto input = torch::randn({8, 2});
  for (int step = 0; step < 2; ++step) parallel.forward(input);
  torch::nn::BatchNorm1d expected(2);
  for (int step = 0; step < 2; ++step) expected(input.narrow(0, 0, 4));
  for (const auto& buffer : expected->named_buffers()) {
    EXPECT_TRUE(net->named_buffers()["0." + buffer.key()].equal(buffer.value())) << buffer.key();
  }
  // In evaluation the second device uses them too.
  net->eval();
  EXPECT_TRUE(parallel.forward(input).equal(net->forward(input)));
}

TEST(DataParallel, DividesUnevenBatchesAndCarriesTheStateOfTheCallersThread) {
  auto seen = std::make_shared<Seen>();
  Witness witness(seen);
  DataParallel parallel(witness, cpus(3));
  witness->eval();
  {
    torch::NoGradGuard no_gradients;
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
    parallel.forward(torch::randn({10, 1}));
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
  EXPECT_THAT(seen->batches, ::testing::UnorderedElementsAre(4, 3, 3));
  EXPECT_THAT(seen->gradients, ::testing::Each(false));
  EXPECT_THAT(seen->autocasts, ::testing::Each(true));
  EXPECT_THAT(seen->training, ::testing::Each(false));
  *seen = {};
  witness->train();
  parallel.forward(torch::randn({12, 1}));
  EXPECT_THAT(seen->gradients, ::testing::Each(true));
  EXPECT_THAT(seen->autocasts, ::testing::Each(false));
  EXPECT_THAT(seen->training, ::testing::Each(true));
}

TEST(DataParallel, NamesTheDeviceWhereForwardFailed) {
  Witness witness(std::make_shared<Seen>());
  DataParallel parallel(witness, cpus(2));
  EXPECT_THAT(
      [&] {
        parallel.forward(torch::randn({5, 1}));
      },
      ThrowsMessage<UsageError>(HasSubstr("forward on device 1 (cpu): two samples")));
  EXPECT_THAT(
      [&] {
        parallel.forward(torch::randn({3, 1}));
      },
      ThrowsMessage<UsageError>(HasSubstr("forward on device 0 (cpu): two samples")));
  EXPECT_THAT(
      [&] {
        parallel.forward(torch::randn({2, 1}));
      },
      ThrowsMessage<RuntimeError>(HasSubstr("forward on device 0 (cpu): one sample is too few")));
  EXPECT_EQ(parallel.forward(torch::randn({6, 1})).size(0), 6);
}

struct UncloneableImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) { return x; }
};

TEST(DataParallel, RefusesWhatItCannotUse) {
  auto net = make_net();
  EXPECT_THAT([&] { DataParallel(net, {}); }, ThrowsMessage<UsageError>(HasSubstr("at least one device")));
  EXPECT_THAT([&] { DataParallel(net, {at::Device(at::kMeta, 0)}); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("'0.weight' on cpu"), HasSubstr("meta"))));
  EXPECT_THAT([&] { DataParallel(std::make_shared<UncloneableImpl>(), cpus(2)); },
              ThrowsMessage<UsageError>(HasSubstr("torch::nn::Cloneable")));
  EXPECT_EQ(DataParallel(std::make_shared<UncloneableImpl>(), cpus(1)).forward(torch::ones({2})).size(0), 2);
}

}  // namespace
}  // namespace lockstep::test

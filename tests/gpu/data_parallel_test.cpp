// DataParallel where parameters and gradients must cross between devices: one GPU and the CPU are two devices.
#include <lockstep/parallel/data_parallel.h>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include "norm_check.h"

namespace lockstep::test {
namespace {

torch::nn::Sequential make_net() {
  torch::manual_seed(2);
  torch::nn::Sequential net(torch::nn::Linear(4, 6), torch::nn::BatchNorm1d(6), torch::nn::Tanh(),
                            torch::nn::Linear(6, 3));
  net->to(torch::kDouble);
  net->eval();
  return net;
}

class DevicePair : public ::testing::TestWithParam<std::vector<at::Device>> {};

TEST_P(DevicePair, GivesTheGradientsOfOneDeviceOnTheWholeBatch) {
  const auto devices = GetParam();
  auto net = make_net(), alone = make_net();
  net->to(devices.front());
  DataParallel parallel(net, devices);
  for (int step = 0; step < 3; ++step) {
    const auto input = torch::randn({7, 4}, torch::kDouble);
    net->zero_grad();
    alone->zero_grad();
    const auto found = parallel.forward(input), expected = alone->forward(input);
    EXPECT_EQ(found.device().type(), devices.front().type());
    found.square().mean().backward();
    expected.square().mean().backward();
    expect_near("output", found, expected, 1e-12);
    torch::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < net->parameters().size(); ++i) {
      const auto parameter = net->parameters()[i], other = alone->parameters()[i];
      expect_near("gradient", parameter.grad(), other.grad(), 1e-12);
      parameter.sub_(parameter.grad(), 0.1);
      other.sub_(other.grad(), 0.1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DataParallelOnGpu, DevicePair,
                         ::testing::Values(std::vector<at::Device>{{at::kCUDA, 0}},
                                           std::vector<at::Device>{{at::kCUDA, 0}, {at::kCUDA, 0}},
                                           std::vector<at::Device>{{at::kCUDA, 0}, {at::kCPU}},
                                           std::vector<at::Device>{{at::kCPU}, {at::kCUDA, 0}}));

}  // namespace
}  // namespace lockstep::test

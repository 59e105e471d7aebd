// Our SGD beside libtorch's.
#include <sstream>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/optim/sgd.h>

namespace lockstep::test {
namespace {

using torch::optim::SGDOptions;

// Parameters of several types and layouts.
std::vector<torch::Tensor> make_parameters() {
  torch::manual_seed(5);
  std::vector<torch::Tensor> parameters{
      torch::randn({7, 3}),
      torch::randn({5}, torch::kDouble),
      torch::randn({4, 3, 5, 5}).contiguous(torch::MemoryFormat::ChannelsLast),
      torch::randn({6, 1, 4, 1}),
      torch::randn({8, 8}).t(),
      torch::randn({9, 4}).slice(1, 0, 2),  // with gaps
      torch::randn({3}, torch::kComplexDouble),
  };
  for (auto& parameter : parameters) parameter.requires_grad_(true);
  return parameters;
}

// Gradients that lie otherwise in memory than their parameters; one is missing now and then.
void set_gradients(std::vector<torch::Tensor>& parameters, int step) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto& parameter = parameters[i];
    parameter.mutable_grad().reset();
    if (step % 4 == 1 && i % 3 == 0) continue;
    torch::manual_seed(static_cast<std::uint64_t>(step) * 100 + i);
    const auto gradient = torch::randn(parameter.sizes(), parameter.options().requires_grad(false));
    parameter.mutable_grad() = gradient.contiguous();
  }
}

double largest_difference(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, (a[i] - b[i]).abs().max().item<double>());
  }
  return largest;
}

class SgdOptions : public ::testing::TestWithParam<const char*> {
 protected:
  static SGDOptions options() {
    const std::string name = GetParam();
    if (name == "decay") return SGDOptions(0.1).weight_decay(0.01);
    if (name == "momentum") return SGDOptions(0.1).momentum(0.9);
    if (name == "dampening") return SGDOptions(0.1).momentum(0.9).dampening(0.3);
    if (name == "nesterov") return SGDOptions(0.1).momentum(0.9).weight_decay(0.01).nesterov(true);
    return SGDOptions(0.1);
  }
};

TEST_P(SgdOptions, StepsAsLibtorchs) {
  auto ours = make_parameters(), theirs = make_parameters();
  optim::Sgd sgd(ours, options());
  torch::optim::SGD reference(theirs, options());
  for (int step = 0; step < 10; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    sgd.step();
    reference.step();
    EXPECT_LT(largest_difference(ours, theirs), 1e-6) << "step " << step;
  }
  EXPECT_GT(largest_difference(ours, make_parameters()), 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Every, SgdOptions, ::testing::Values("plain", "decay", "momentum", "dampening", "nesterov"),
                         [](const auto& name) { return std::string(name.param); });

TEST(Sgd, GroupsHaveTheirOwnOptions) {
  auto ours = make_parameters(), theirs = make_parameters();
  const auto groups = [](const std::vector<torch::Tensor>& parameters) {
    std::vector<torch::optim::OptimizerParamGroup> result;
    result.emplace_back(std::vector(parameters.begin(), parameters.begin() + 3));
    result.emplace_back(std::vector(parameters.begin() + 3, parameters.end()),
                        std::make_unique<SGDOptions>(SGDOptions(0.5).momentum(0.5)));
    return result;
  };
  optim::Sgd sgd(groups(ours), SGDOptions(0.1));
  torch::optim::SGD reference(groups(theirs), SGDOptions(0.1));
  for (int step = 0; step < 3; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    sgd.step();
    reference.step();
  }
  EXPECT_LT(largest_difference(ours, theirs), 1e-6);
}

TEST(Sgd, ASparseGradientCounts) {
  auto table = torch::zeros({4, 2}, torch::requires_grad());
  optim::Sgd sgd({table}, SGDOptions(1.0).momentum(0.9));
  torch::nn::functional::embedding(torch::tensor({1, 1, 3}), table,
                                   torch::nn::functional::EmbeddingFuncOptions().sparse(true))
      .sum()
      .backward();
  ASSERT_TRUE(table.grad().is_sparse());
  sgd.step();
  EXPECT_TRUE(table.select(1, 0).equal(torch::tensor({0.0F, -2.0F, 0.0F, -1.0F})));
}

TEST(Sgd, ItsFilesAreLibtorchsAndTheOtherWayRound) {
  const auto options = SGDOptions(0.1).momentum(0.9);
  auto ours = make_parameters(), theirs = make_parameters();
  optim::Sgd sgd(ours, options);
  set_gradients(ours, 0);
  sgd.step();
  std::stringstream file;
  torch::save(sgd, file);
  torch::optim::SGD reference(theirs, SGDOptions(0.7));
  torch::load(reference, file);
  for (std::size_t i = 0; i < ours.size(); ++i) theirs[i].data().copy_(ours[i].data());
  set_gradients(ours, 2);
  set_gradients(theirs, 2);
  sgd.step();
  reference.step();
  EXPECT_LT(largest_difference(ours, theirs), 1e-6);
  EXPECT_EQ(reference.param_groups()[0].options().get_lr(), 0.1);

  std::stringstream back;
  torch::save(reference, back);
  optim::Sgd again(ours, SGDOptions(0.7));
  torch::load(again, back);
  set_gradients(ours, 3);
  set_gradients(theirs, 3);
  again.step();
  reference.step();
  EXPECT_LT(largest_difference(ours, theirs), 1e-6);
}

TEST(Sgd, AClosureIsCalledWithGradients) {
  auto weight = torch::ones({1}, torch::requires_grad());
  optim::Sgd sgd({weight}, SGDOptions(0.5));
  const torch::NoGradGuard no_gradients;
  const auto loss = sgd.step([&] {
    const auto value = (weight * weight).sum();
    value.backward();
    return value;
  });
  EXPECT_EQ(loss.item<double>(), 1);
  EXPECT_EQ(weight.item<double>(), 0);
}

TEST(Sgd, CountsItsChanges) {
  const auto parameter = torch::ones({3}, torch::requires_grad());
  parameter.mutable_grad() = torch::ones({3});
  optim::Sgd optimizer({parameter}, SGDOptions(0.1).momentum(0.9));
  const auto before = parameter._version();
  optimizer.step();
  EXPECT_GT(parameter._version(), before);
}

}  // namespace
}  // namespace lockstep::test

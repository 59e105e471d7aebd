// Adasum against what its definition says, computed on one rank.
#include <gmock/gmock.h>

#include <lockstep/parallel/distributed_optimizer.h>

#include "world.h"

#include <torch/torch.h>

namespace lockstep::test {
namespace {

torch::Tensor pair_by_definition(const torch::Tensor& a, const torch::Tensor& b) {
  const auto product = (a * b).sum(), of_a = (a * a).sum(), of_b = (b * b).sum();
  if (of_a.item<double>() == 0 || of_b.item<double>() == 0) return a + b;
  return a * (1 - product / (2 * of_a)) + b * (1 - product / (2 * of_b));
}

torch::Tensor by_definition(std::vector<torch::Tensor> gradients) {
  while (gradients.size() > 1) {
    std::vector<torch::Tensor> next;
    for (std::size_t i = 0; i < gradients.size(); i += 2) {
      next.push_back(i + 1 < gradients.size() ? pair_by_definition(gradients[i], gradients[i + 1]) : gradients[i]);
    }
    gradients = std::move(next);
  }
  return gradients[0];
}

torch::Tensor gradient_of_rank(int rank, std::int64_t elements) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(50 + static_cast<std::uint64_t>(rank));
  return torch::randn({elements}, generator, torch::kDouble);
}

std::vector<torch::Tensor> gradients_of_all(std::int64_t elements) {
  std::vector<torch::Tensor> all;
  for (int rank = 0; rank < world().size(); ++rank) all.push_back(gradient_of_rank(rank, elements));
  return all;
}

// The reduced gradients of parameters whose gradients on this rank are given.
std::vector<torch::Tensor> reduced(const std::vector<torch::Tensor>& gradients,
                                   const DistributedOptimizerOptions& options) {
  std::vector<torch::Tensor> weights;
  NamedTensors::List named;
  auto loss = torch::zeros({}, torch::kDouble);
  for (const auto& gradient : gradients) {
    weights.push_back(torch::zeros_like(gradient).requires_grad_(true));
    named.emplace_back(std::to_string(weights.size()), weights.back());
    loss = loss + (weights.back() * gradient).sum();
  }
  torch::optim::SGD sgd(weights, 1.0);
  DistributedOptimizer optimizer(sgd, named, world(), options);
  loss.backward();
  optimizer.synchronize();
  std::vector<torch::Tensor> result;
  for (const auto& weight : weights) result.push_back(weight.grad());
  return result;
}

TEST(Adasum, CombinesEachTensorByItsDefinition) {
  for (const double megabytes : {0.0, 4.0}) {
    const auto result = reduced({gradient_of_rank(world().rank(), 1000), gradient_of_rank(world().rank(), 7)},
                                {.reduction = GradientReduction::kAdasum, .fusion_megabytes = megabytes});
    EXPECT_TRUE(torch::allclose(result[0], by_definition(gradients_of_all(1000)), 1e-12, 1e-13));
    EXPECT_TRUE(torch::allclose(result[1], by_definition(gradients_of_all(7)), 1e-12, 1e-13));
  }
}

TEST(Adasum, AveragesWhatIsParallelAndAddsWhatIsOrthogonal) {
  const auto same = torch::tensor({3.0, -4.0}, torch::kDouble);
  const auto own = torch::zeros({8}, torch::kDouble);
  own[world().rank()] = 2;
  const auto result = reduced({same, own}, {.reduction = GradientReduction::kAdasum});
  EXPECT_TRUE(torch::allclose(result[0], same, 1e-14, 0));
  EXPECT_TRUE(result[1].narrow(0, 0, world().size()).eq(2).all().item<bool>());
}

TEST(Adasum, AGradientOfZerosChangesNothing) {
  const auto one = torch::ones({5}, torch::kDouble) * (world().rank() == world().size() - 1 ? 1 : 0);
  EXPECT_TRUE(reduced({one}, {.reduction = GradientReduction::kAdasum})[0].eq(1).all().item<bool>());
}

}  // namespace
}  // namespace lockstep::test

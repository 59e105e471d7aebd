// A TorchScript file on several ranks.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/nn/registry.h>
#include <lockstep/optim/sgd.h>
#include <lockstep/parallel/distributed_data_parallel.h>

#include "script_net.h"
#include "world.h"

namespace lockstep::test {
namespace {

using torch::indexing::Slice;

std::shared_ptr<nn::Model> make_net(std::uint64_t seed) {
  torch::manual_seed(seed);
  const TemporaryFolder folder;
  const auto model = nn::make_model(write_script_net(folder), {.input_shape = {4}});
  model->to(at::kDouble);
  return model;
}

TEST(ScriptModel, TrainsOnManyRanksAsOnOneThatSeesAllBatches) {
  constexpr int kSteps = 3, kBatch = 4;
  const int rank = world().rank(), size = world().size();
  const auto model = make_net(7 + static_cast<std::uint64_t>(rank)), alone = make_net(7);
  DistributedDataParallel ddp(model, world());
  optim::Sgd optimizer(model->parameters(), torch::optim::SGDOptions(0.1));
  optim::Sgd reference(alone->parameters(), torch::optim::SGDOptions(0.1));
  torch::manual_seed(1);
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor all = torch::randn({kBatch * size, 4}, at::kDouble);
    optimizer.zero_grad();
    ddp.forward(all.index({Slice(kBatch * rank, kBatch * (rank + 1))})).square().mean().backward();
    optimizer.step();
    reference.zero_grad();
    alone->forward(all).square().mean().backward();
    reference.step();
  }
  const at::Tensor found = model->parameters().front(), expected = alone->parameters().front();
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-12);
}

}  // namespace
}  // namespace lockstep::test

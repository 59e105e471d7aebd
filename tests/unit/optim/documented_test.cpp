// The programs of docs/optimizers.md.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <lockstep/nn/registry.h>
#include <lockstep/optim/clip.h>
#include <lockstep/optim/exponential_moving_average.h>
#include <lockstep/optim/make_optimizer.h>
#include <lockstep/optim/named_state.h>

namespace lockstep::test {
namespace {

torch::Tensor loss_of(nn::Model& model) {
  torch::manual_seed(1);
  return torch::nn::functional::cross_entropy(model.forward(torch::randn({8, 1, 28, 28})), torch::arange(8));
}

TEST(DocumentedOptimizers, TrainAndEvaluateWithAveragedWeights) {
  constexpr int steps = 8;
  torch::manual_seed(2);
  const auto model = nn::make_model("mnist");
  model->eval();  // no dropout: the loss must fall
  double averaged_loss = 0;
  const double loss_before = loss_of(*model).item<double>();
  const auto evaluate = [&](nn::Model& evaluated) { averaged_loss = loss_of(evaluated).item<double>(); };

  const auto optimizer = optim::make_optimizer("sgd", optim::parameter_groups(*model),
                                               {.lr = 0.1, .weight_decay = 5e-4, .momentum = 0.9, .nesterov = true});
  optim::ExponentialMovingAverage average(model, {.decay = 0.5});

  for (int step = 0; step < steps; ++step) {
    optimizer->zero_grad();
    loss_of(*model).backward();
    const at::Tensor norm = optim::clip_grad_norm(model->parameters(), 1.0);  // stays on the device
    optimizer->step();
    average.update();
  }
  const double loss = loss_of(*model).item<double>();
  {
    const auto averaged = average.use();  // the model has the averaged weights, until the end of the block
    evaluate(*model);
  }
  EXPECT_LT(loss, loss_before);
  EXPECT_LT(averaged_loss, loss_before);
  EXPECT_NE(averaged_loss, loss);
  EXPECT_EQ(loss_of(*model).item<double>(), loss);

  const optim::NamedState state = optim::named_state(*optimizer, model->named_parameters());
  optim::load_named_state(*optimizer, model->named_parameters(), state);
  EXPECT_EQ(state.tensors.size(), model->parameters().size());
}

TEST(DocumentedOptimizers, GiveAGroupItsOwnRate) {
  const auto model = nn::make_model("mnist");
  auto groups = optim::parameter_groups(*model);
  groups[1].lr = 0.02;
  const auto optimizer = optim::make_optimizer("adamw", groups);
  EXPECT_EQ(optimizer->param_groups()[0].options().get_lr(), 0.001);
  EXPECT_EQ(optimizer->param_groups()[1].options().get_lr(), 0.02);
}

}  // namespace
}  // namespace lockstep::test

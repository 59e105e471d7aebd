#include <fmt/format.h>
#include <gmock/gmock.h>
#include <torch/script.h>
#include <torch/torch.h>

#include <lockstep/base/errors.h>
#include <lockstep/parallel/distributed_data_parallel.h>
#include <lockstep/parallel/sync.h>
#include <lockstep/parallel/sync_batch_norm.h>

#include "same_answers.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kExact = 1e-12;

torch::optim::SGD make_optimizer(torch::nn::Module& module) {
  return torch::optim::SGD(module.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
}

SmallNet make_net(std::uint64_t seed = 7) {
  torch::manual_seed(seed);
  return {};
}

// One rank that sees the batches of all.
SmallNet train_alone(int ranks) {
  SmallNet net = make_net();
  auto optimizer = make_optimizer(*net);
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    const Samples samples = global_batch(step, ranks);
    loss_of(net->forward(samples.inputs), samples).backward();
    optimizer.step();
  }
  return net;
}

SmallNet train_in_parallel(const DistributedDataParallelOptions& options = {}, bool set_to_none = true) {
  // Seeds differ, so that only the broadcast can make the ranks equal.
  SmallNet net = make_net(7 + static_cast<std::uint64_t>(world().rank()));
  DistributedDataParallel ddp(net, world(), options);
  auto optimizer = make_optimizer(*net);
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad(set_to_none);
    const Samples samples = rank_batch(step, world().rank(), world().size());
    loss_of(ddp.forward(samples.inputs), samples).backward();
    optimizer.step();
  }
  return net;
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DistributedDataParallel, EqualsOneRankWithTheWholeBatch) {
  EXPECT_LT(difference(*train_in_parallel(), *train_alone(world().size())), kExact);
}

TEST(DistributedDataParallel, EqualsOneRank_InEveryMode) {
  const SmallNet expected = train_alone(world().size());
  EXPECT_LT(difference(*train_in_parallel({.gradient_as_bucket_view = false}), *expected), kExact);
  EXPECT_LT(difference(*train_in_parallel({.find_unused_parameters = true}), *expected), kExact);
  EXPECT_LT(difference(*train_in_parallel({.static_graph = true}), *expected), kExact);
  for (const bool overlap : {true, false}) {
    EXPECT_LT(difference(*train_in_parallel({.find_unused_parameters = true, .overlap = overlap}), *expected), kExact);
  }
  for (const bool static_graph : {true, false}) {
    EXPECT_LT(
        difference(*train_in_parallel(
                       {.bucket_megabytes = 0.001, .first_bucket_megabytes = 0.0001, .static_graph = static_graph}),
                   *expected),
        kExact);
  }
  EXPECT_LT(difference(*train_in_parallel({}, /*set_to_none=*/false), *expected), kExact);
}

TEST(DistributedDataParallel, IsBitEqualInTwoRuns) {
  const SmallNet first = train_in_parallel(), second = train_in_parallel();
  EXPECT_EQ(difference(*first, *second), 0);
}

TEST(DistributedDataParallel, UnderNoSync_AddsUpToTheLargeBatch) {
  SmallNet net = make_net();
  DistributedDataParallel ddp(net, world());
  auto optimizer = make_optimizer(*net);
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    const Samples samples = rank_batch(step, world().rank(), world().size());
    const auto add = [&](std::int64_t begin) {
      const Samples part{samples.inputs.narrow(0, begin, kRankBatch / 2),
                         samples.labels.narrow(0, begin, kRankBatch / 2)};
      (loss_of(ddp.forward(part.inputs), part) / 2).backward();
    };
    {
      const auto guard = ddp.no_sync();
      add(0);
    }
    add(kRankBatch / 2);
    optimizer.step();
  }
  EXPECT_LT(difference(*net, *train_alone(world().size())), kExact);
}

// Large enough for a bucket of its own.
struct LargeNetImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) { return second(torch::relu(first(x))); }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(600, 600));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(600, 2));
};
TORCH_MODULE(LargeNet);

// libtorch's optimizers detach gradients in place, which autograd forbids for views of a bucket.
TEST(DistributedDataParallel, LetsGradientsBeZeroed_ThatAModuleHadBefore) {
  SmallNet net = make_net();
  auto optimizer = make_optimizer(*net);
  const Samples samples = rank_batch(0, world().rank(), world().size());
  loss_of(net->forward(samples.inputs), samples).backward();
  DistributedDataParallel ddp(net, world());
  for (const bool set_to_none : {false, true}) {
    EXPECT_NO_THROW(optimizer.zero_grad(set_to_none));
    loss_of(ddp.forward(samples.inputs), samples).backward();
    optimizer.step();
  }
}

TEST(DistributedDataParallel, ReducesLargeGradientsWithoutCopyingThem) {
  torch::manual_seed(1);
  LargeNet net;
  DistributedDataParallel ddp(net, world(), {.overlap = true});
  for (int step = 0; step < 4; ++step) {
    net->zero_grad();
    std::vector<torch::Tensor> inputs;
    for (int rank = 0; rank < world().size(); ++rank) inputs.push_back(torch::full({3, 600}, rank + 1.0F));
    ddp.forward(inputs[static_cast<std::size_t>(world().rank())]).sum().backward();
    const auto whole = torch::cat(inputs);
    const auto expected = torch::autograd::grad({net->forward(whole).sum() / world().size()}, {net->first->weight})[0];
    EXPECT_TRUE(torch::allclose(net->first->weight.grad(), expected));
    const auto stats = ddp.stats();
    EXPECT_EQ(stats.adopted, 1) << "at step " << step;
    EXPECT_EQ(stats.steps, step + 1);
  }
  const auto stats = ddp.stats();
  EXPECT_EQ(stats.bytes, 4 * (600 * 600 + 600 + 600 * 2 + 2));
  EXPECT_EQ(stats.buckets, 2);
  EXPECT_GT(stats.communication.count(), 0);
  EXPECT_GE(stats.hidden(), 0);
  EXPECT_LE(stats.hidden(), 1);
}

TEST(DistributedDataParallel, HidesNothingWhereItReducesAtTheEnd) {
  SmallNet net = make_net();
  DistributedDataParallel ddp(net, world(), {.overlap = false});
  const Samples samples = rank_batch(0, world().rank(), world().size());
  loss_of(ddp.forward(samples.inputs), samples).backward();
  EXPECT_GT(ddp.stats().communication.count(), 0);
  EXPECT_EQ(ddp.stats().hidden(), 0);
}

TEST(DistributedDataParallel, KeepsChannelsLastGradientsInTheirLayout) {
  torch::manual_seed(1);
  torch::nn::Conv2d net(torch::nn::Conv2dOptions(64, 512, 3));
  for (auto& parameter : net->parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  }
  DistributedDataParallel ddp(net, world());
  // Different in every channel and place, so that only the right order of elements gives the right gradient.
  const auto input_of = [](double factor) {
    return (torch::arange(64 * 5 * 5, torch::kFloat).view({1, 64, 5, 5}) * factor)
        .contiguous(at::MemoryFormat::ChannelsLast);
  };
  ddp.forward(input_of(world().rank() + 1)).sum().backward();
  const auto gradient = net->weight.grad();
  EXPECT_TRUE(gradient.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(ddp.stats().adopted, 2);  // weight and bias
  const auto average = net->forward(input_of((world().size() + 1) / 2.0));
  EXPECT_TRUE(torch::allclose(gradient, torch::autograd::grad({average.sum()}, {net->weight})[0]));
}

struct TwoBranchesImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x, bool both) { return both ? left(x) + right(x) : left(x); }
  torch::nn::Linear left = register_module("left", torch::nn::Linear(3, 1));
  torch::nn::Linear right = register_module("right", torch::nn::Linear(3, 1));
};
TORCH_MODULE(TwoBranches);

TEST(DistributedDataParallel, NamesTheParametersThatGotNoGradient) {
  TwoBranches net;
  DistributedDataParallel ddp(net, world());
  ddp.forward(torch::ones({2, 3}), false).sum().backward();
  const std::string error = error_of([&] { ddp.forward(torch::ones({2, 3}), false); });
  EXPECT_THAT(error, AllOf(HasSubstr("on rank " + std::to_string(world().rank())),
                           HasSubstr("right.weight, right.bias"), Not(HasSubstr("left."))));
}

TEST(DistributedDataParallel, FindsUnusedParameters_AlsoWhenRanksDiffer) {
  TwoBranches net;
  DistributedDataParallel ddp(net, world(), {.find_unused_parameters = true});
  // The right branch is used on the last rank only: its gradient there is 2, elsewhere none.
  for (int step = 0; step < 3; ++step) {
    net->zero_grad();
    ddp.forward(torch::ones({2, 3}), world().rank() == world().size() - 1).sum().backward();
    EXPECT_TRUE(net->left->weight.grad().eq(2).all().item<bool>());
    EXPECT_TRUE(torch::allclose(net->right->weight.grad(), torch::full({1, 3}, 2.0 / world().size())));
  }
  // Where no rank uses it, it has none.
  net->zero_grad();
  ddp.forward(torch::ones({2, 3}), false).sum().backward();
  EXPECT_FALSE(net->right->weight.grad().defined());
}

TEST(DistributedDataParallel, RefusesASecondBackward) {
  SmallNet net = make_net();
  DistributedDataParallel ddp(net, world());
  const Samples samples = rank_batch(0, world().rank(), world().size());
  const auto loss = loss_of(ddp.forward(samples.inputs), samples);
  loss.backward({}, /*retain_graph=*/true);
  EXPECT_THAT(error_of([&] { loss.backward(); }), AllOf(HasSubstr("backward ran again"), HasSubstr("no_sync")));
}

TEST(DistributedDataParallel, NamesTheRankAndTheParameterOfANan) {
  SmallNet net = make_net();
  DistributedDataParallel ddp(net, world());
  Samples samples = rank_batch(0, world().rank(), world().size());
  const int culprit = world().size() - 1;
  if (world().rank() == culprit) samples.inputs[1][0][2][3] = std::nan("");
  const auto loss = loss_of(ddp.forward(samples.inputs), samples);
  EXPECT_THAT(error_of([&] { loss.backward(); }),
              AllOf(HasSubstr("not finite"), HasSubstr("found: rank " + std::to_string(culprit) + ": output.bias")));
}

TEST(DistributedDataParallel, GoesOnAfterANan) {
  TwoBranches net;
  DistributedDataParallel ddp(net, world(), {.find_unused_parameters = true});
  const auto step = [&](double value, bool both) {
    net->zero_grad();
    ddp.forward(torch::full({2, 3}, value), both).sum().backward();
  };
  EXPECT_THAT(error_of([&] { step(std::nan(""), true); }), HasSubstr("not finite"));
  step(1, false);
  EXPECT_TRUE(net->left->weight.grad().eq(2).all().item<bool>());
  EXPECT_FALSE(net->right->weight.grad().defined());
}

TEST(DistributedDataParallel, LeavesANanToTheLossScaler) {
  SmallNet net = make_net();
  DistributedDataParallel ddp(net, world(), {.check_gradients = false});
  Samples samples = rank_batch(0, world().rank(), world().size());
  if (world().rank() == 0) samples.inputs.fill_(std::nan(""));
  loss_of(ddp.forward(samples.inputs), samples).backward();
  EXPECT_TRUE(net->output->weight.grad().isnan().all().item<bool>());
}

TEST(DistributedDataParallel, RefusesAModuleWithoutParametersToTrain) {
  torch::nn::ReLU empty;
  EXPECT_THAT(error_of([&] { DistributedDataParallel(empty, world()); }), HasSubstr("has no parameters"));
  SmallNet frozen = make_net();
  for (auto& parameter : frozen->parameters()) parameter.set_requires_grad(false);
  EXPECT_THAT(error_of([&] { DistributedDataParallel(frozen, world()); }), HasSubstr("frozen"));
}

TEST(DistributedDataParallel, NamesTheFirstDifferenceBetweenModules) {
  const std::int64_t width = world().rank() == 1 ? 4 : 3;
  torch::nn::Sequential net(torch::nn::Linear(2, 3), torch::nn::Linear(3, width));
  const auto expected = world().size() == 1
                            ? ::testing::Matcher<std::string>("no error")
                            : AllOf(HasSubstr("first at number 3"), HasSubstr("rank 1: '1.weight' float32[4, 3]"),
                                    HasSubstr("'1.weight' float32[3, 3]"));
  EXPECT_THAT(error_of([&] { DistributedDataParallel(net, world()); }), expected);
  EXPECT_THAT(error_of([&] { sync_parameters(net, world()); }), expected);
}

TEST(DistributedDataParallel, NamesADifferenceOfNamesTypesOrBuffers) {
  if (world().size() == 1) GTEST_SKIP() << "nobody to differ from";
  const auto weight = torch::zeros({2}, torch::requires_grad()), mean = torch::zeros({3});
  const ModuleState same{.parameters = {{"weight", weight}}, .buffers = {{"mean", mean}}};
  const auto error_with = [&](const ModuleState& of_rank_1) {
    return error_of([&] { parallel::Synchronizer(world().rank() == 1 ? of_rank_1 : same, world(), {}); });
  };
  const auto doubles = torch::zeros({2}, torch::dtype(torch::kDouble).requires_grad(true));
  EXPECT_THAT(error_with({.parameters = {{"weights", weight}}, .buffers = same.buffers}),
              AllOf(HasSubstr("first at number 1"), HasSubstr("rank 1: 'weights' float32[2]")));
  EXPECT_THAT(error_with({.parameters = {{"weight", doubles}}, .buffers = same.buffers}),
              AllOf(HasSubstr("first at number 1"), HasSubstr("rank 1: 'weight' float64[2]")));
  EXPECT_THAT(error_with({.parameters = same.parameters, .buffers = {{"variance", mean}}}),
              AllOf(HasSubstr("first at number 2"), HasSubstr("rank 1: 'variance' float32[3]")));
  EXPECT_THAT(error_with({.parameters = same.parameters, .buffers = {{"mean", torch::zeros({4})}}}),
              AllOf(HasSubstr("first at number 2"), HasSubstr("rank 1: 'mean' float32[4]")));
  EXPECT_THAT(error_with({.parameters = same.parameters}),
              AllOf(HasSubstr("first at number 2"), HasSubstr("rank 1: nothing"), HasSubstr("'mean' float32[3]")));
  EXPECT_EQ(error_with(same), "no error");
}

TEST(DistributedDataParallel, NamesTheRankWhoseModuleLiesOnSeveralDevices) {
  const bool has_two = world().rank() == world().size() - 1;
  auto net = std::make_shared<torch::nn::Module>();
  net->register_parameter("here", torch::zeros({2}));
  net->register_parameter("there", torch::zeros({2}, has_two ? at::kMeta : at::kCPU));
  const std::string error = error_of([&] { parallel::Synchronizer(state_of(net), world(), {}); });
  EXPECT_THAT(error, HasSubstr("several devices (cpu, meta)"));
  if (!has_two) {
    EXPECT_THAT(error, HasSubstr(fmt::format("rank {} cannot take part", world().size() - 1)));
  }
}

TEST(DistributedDataParallel, TrainsTiedAndFrozenParameters) {
  torch::manual_seed(3);
  torch::nn::Linear shared(4, 4);
  torch::nn::Sequential net(shared, torch::nn::ReLU(), shared, torch::nn::Linear(4, 2));
  net->to(torch::kDouble);
  auto frozen = net->ptr(3)->parameters()[0];
  frozen.set_requires_grad(false);
  EXPECT_EQ(state_of(net).parameters.size(), 4);
  DistributedDataParallel ddp(net, world());
  const auto all = torch::randn({2 * world().size(), 4}, torch::kDouble);
  world().broadcast(all);
  ddp.forward(all.narrow(0, 2 * world().rank(), 2)).mean().backward();
  const auto of_shared = shared->weight.grad().clone();
  EXPECT_FALSE(frozen.grad().defined());
  const auto expected = torch::autograd::grad({net->forward(all).mean()}, {shared->weight})[0];
  EXPECT_LT((of_shared - expected).abs().max().item<double>(), kExact);
}

// The weight is large enough for a bucket of its own.
struct ComplexNetImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return (torch::mm(x.to(torch::kComplexDouble), weight) + bias).abs() * scale;
  }
  torch::Tensor weight = register_parameter("weight", torch::randn({256, 300}, torch::kComplexDouble));
  torch::Tensor bias = register_parameter("bias", torch::randn({300}, torch::kComplexDouble));
  torch::Tensor scale = register_parameter("scale", torch::randn({300}, torch::kDouble));
};
TORCH_MODULE(ComplexNet);

TEST(DistributedDataParallel, TrainsComplexParameters) {
  torch::manual_seed(2);
  ComplexNet net;
  const auto inputs = torch::randn({2 * world().size(), 256}, torch::kDouble);
  const auto mine = inputs.narrow(0, 2 * world().rank(), 2);
  const auto expected = torch::autograd::grad({net->forward(inputs).mean()}, net->parameters());
  // A gradient has no higher rank than there are samples, and PowerSGD is exact up to its own.
  for (const DistributedDataParallelOptions& options :
       {DistributedDataParallelOptions{}, DistributedDataParallelOptions{.gradient_as_bucket_view = false},
        DistributedDataParallelOptions{.hook = power_sgd({.rank = 8, .start_iteration = 0})}}) {
    DistributedDataParallel ddp(net, world(), options);
    for (int step = 0; step < 3; ++step) {
      net->zero_grad();
      ddp.forward(mine).mean().backward();
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_LT((net->parameters()[i].grad() - expected[i]).abs().max().item<double>(), kExact) << step << " " << i;
      }
    }
    net->zero_grad();
    const auto loss = ddp.forward(mine * (world().rank() == 0 ? std::nan("") : 1)).mean();
    EXPECT_THAT(error_of([&] { loss.backward(); }), AllOf(HasSubstr("found: rank 0: "), HasSubstr("weight")));
  }
}

TEST(DistributedDataParallel, TrainsATorchScriptModule) {
  torch::jit::Module script("script");
  script.register_parameter(
      "weight", torch::full({3, 1}, 1.0F + static_cast<float>(world().rank()), torch::requires_grad()), false);
  script.define("def forward(self, x, factor: float):\n  y = torch.mm(x, self.weight)\n  return y * factor, y\n");
  DistributedDataParallel ddp(script, world(), {.find_unused_parameters = true});
  const auto weight = script.attr("weight").toTensor();
  EXPECT_TRUE(weight.eq(1).all().item<bool>());  // rank 0's
  const auto output = ddp.forward(torch::full({2, 3}, world().rank() + 1.0F), 2.0);
  output.toTupleRef().elements()[0].toTensor().sum().backward();
  // Two samples, twice the average input.
  EXPECT_TRUE(torch::allclose(weight.grad(), torch::full({3, 1}, 2.0F * static_cast<float>(world().size() + 1))));
}

TEST(DistributedDataParallel, BroadcastsBuffersBeforeForward) {
  torch::nn::Sequential net(torch::nn::BatchNorm1d(3));
  DistributedDataParallel ddp(net, world());
  const auto norm = std::dynamic_pointer_cast<torch::nn::BatchNorm1dImpl>(net->ptr(0));
  for (int step = 0; step < 2; ++step) ddp.forward(torch::randn({4, 3}) + world().rank()).sum().backward();
  norm->running_mean.fill_(world().rank());
  norm->eval();
  ddp.forward(torch::randn({4, 3}));
  EXPECT_TRUE(norm->running_mean.eq(0).all().item<bool>());
}

TEST(DistributedDataParallel, LeavesEachRankItsBuffersWhereAsked) {
  torch::nn::BatchNorm1d norm(3);
  DistributedDataParallel ddp(norm, world(), {.broadcast_buffers = false});
  norm->running_mean.fill_(world().rank());
  norm->eval();
  ddp.forward(torch::randn({4, 3})).sum().backward();
  EXPECT_TRUE(norm->running_mean.eq(world().rank()).all().item<bool>());
}

// A step with the samples of the ranks from `first` on, as if each counted by 1 / `ranks`.
void step_alone(SmallNet& net, torch::optim::SGD& optimizer, int step, int first, int ranks) {
  optimizer.zero_grad();
  for (int rank = first; rank < world().size(); ++rank) {
    const Samples samples = rank_batch(step, rank, world().size());
    (loss_of(net->forward(samples.inputs), samples) / ranks).backward();
  }
  optimizer.step();
}

TEST(DistributedDataParallel, Joins_RanksWithFewerBatches) {
  SmallNet net = make_net();
  DistributedDataParallel ddp(net, world());
  auto optimizer = make_optimizer(*net);
  // Rank r has r + 1 batches.
  ddp.join([&] {
    for (int step = 0; step <= world().rank(); ++step) {
      optimizer.zero_grad();
      const Samples samples = rank_batch(step, world().rank(), world().size());
      loss_of(ddp.forward(samples.inputs), samples).backward();
      optimizer.step();
    }
  });
  SmallNet alone = make_net();
  auto reference = make_optimizer(*alone);
  for (int step = 0; step < world().size(); ++step) step_alone(alone, reference, step, step, world().size());
  EXPECT_LT(difference(*net, *alone), kExact);
}

TEST(DistributedDataParallel, TrainsOnAfterAJoin) {
  SmallNet net = make_net(), alone = make_net();
  DistributedDataParallel ddp(net, world());
  // Without momentum, which would not be the same on all ranks.
  torch::optim::SGD optimizer(net->parameters(), 0.05), reference(alone->parameters(), 0.05);
  const auto train = [&](int first, int last) {
    for (int step = first; step < last; ++step) {
      optimizer.zero_grad();
      const Samples samples = rank_batch(step, world().rank(), world().size());
      loss_of(ddp.forward(samples.inputs), samples).backward();
      optimizer.step();
    }
  };
  const int ranks = world().size();
  for (int epoch = 0; epoch < 2; ++epoch) {
    const int begin = epoch * kSteps;
    ddp.join([&] { train(begin, begin + world().rank() + 1); }, {.divide_by_initial_size = false});
    train(begin + ranks, begin + kSteps);
    for (int step = 0; step < kSteps; ++step) {
      const int first = step < ranks ? step : 0;
      step_alone(alone, reference, begin + step, first, ranks - first);
    }
  }
  EXPECT_LT(difference(*net, *alone), kExact);
}

TEST(DistributedDataParallel, Joins_AndDividesByTheRanksThatAreLeft) {
  torch::nn::Linear net(1, 1);
  DistributedDataParallel ddp(net, world());
  const bool is_long = world().rank() == world().size() - 1;
  ddp.join(
      [&] {
        for (int step = 0; step < (is_long ? 2 : 1); ++step) {
          net->zero_grad();
          ddp.forward(torch::full({1, 1}, 3.0)).sum().backward();
          EXPECT_FLOAT_EQ(net->weight.grad().item<float>(), 3.0F);
        }
      },
      {.divide_by_initial_size = false});
}

TEST(DistributedDataParallel, RefusesToJoinWithASyncBatchNorm) {
  torch::nn::Sequential net(torch::nn::Linear(3, 4), nn::BatchNorm(4));
  DistributedDataParallel ddp(net, world());
  ddp.join([] {});  // by each rank's own batch
  convert_sync_batch_norm(*net, world());
  bool has_begun = false;
  EXPECT_THAT(error_of([&] { ddp.join([&] { has_begun = true; }); }),
              AllOf(HasSubstr("join() and SyncBatchNorm do not go together"), HasSubstr("found: 1\n")));
  EXPECT_FALSE(has_begun);
}

TEST(DistributedDataParallel, StaysItselfWhenStepsAreClipped) {
  SmallNet net = make_net();
  DistributedDataParallel ddp(net, world());
  const Samples samples = rank_batch(0, world().rank(), world().size());
  loss_of(ddp.forward(samples.inputs), samples).backward();
  const double norm = torch::nn::utils::clip_grad_norm_(net->parameters(), 1e-3);
  EXPECT_GT(norm, 1e-3);
  SmallNet alone = make_net();
  const Samples all = global_batch(0, world().size());
  loss_of(alone->forward(all.inputs), all).backward();
  EXPECT_NEAR(norm, torch::nn::utils::clip_grad_norm_(alone->parameters(), 1e-3), 1e-12);
  for (std::size_t i = 0; i < net->parameters().size(); ++i) {
    EXPECT_TRUE(torch::allclose(net->parameters()[i].grad(), alone->parameters()[i].grad(), 1e-10, 1e-15));
  }
}

TEST(SyncGradients, AveragesAndKeepsWhatNoRankHas) {
  torch::nn::Linear net(2, 2);
  sync_parameters(net, world());
  if (world().rank() == 0) net->weight.mutable_grad() = torch::full({2, 2}, static_cast<float>(world().size()));
  sync_gradients(net, world());
  EXPECT_TRUE(net->weight.grad().eq(1).all().item<bool>());
  EXPECT_FALSE(net->bias.grad().defined());
  sync_gradients(net, world(), Reduce::kSum);
  EXPECT_TRUE(net->weight.grad().eq(world().size()).all().item<bool>());
}

TEST(SyncGradients, NamesTheRankAndTheParameterOfANan) {
  torch::nn::Linear net(2, 2);
  const int culprit = world().size() - 1;
  const auto give_gradients = [&] {
    net->weight.mutable_grad() = torch::ones({2, 2});
    net->bias.mutable_grad() = torch::ones({2});
    if (world().rank() == culprit) net->bias.mutable_grad()[1] = std::nan("");
  };
  for (const Reduce op : {Reduce::kAverage, Reduce::kSum}) {
    give_gradients();
    EXPECT_THAT(error_of([&] { sync_gradients(net, world(), op); }),
                AllOf(HasSubstr("not finite"), HasSubstr(fmt::format("found: rank {}: bias", culprit))));
  }
  give_gradients();
  sync_gradients(net, world(), Reduce::kAverage, {.check_gradients = false});
  EXPECT_TRUE(net->weight.grad().eq(1).all().item<bool>());
  EXPECT_TRUE(net->bias.grad()[1].isnan().item<bool>());
}

TEST(SyncParameters, GivesEveryRankThoseOfTheRoot) {
  torch::nn::BatchNorm1d net(3);
  const int root = world().size() - 1;
  torch::NoGradGuard no_grad;
  net->weight.fill_(world().rank());
  net->running_var.fill_(world().rank() + 10);
  net->num_batches_tracked.fill_(world().rank() + 20);
  sync_parameters(net, world(), root);
  EXPECT_TRUE(net->weight.eq(root).all().item<bool>());
  EXPECT_TRUE(net->running_var.eq(root + 10).all().item<bool>());
  EXPECT_EQ(net->num_batches_tracked.item<std::int64_t>(), root + 20);
}

}  // namespace
}  // namespace lockstep::test

// Weight gradients of large linear layers from the factors of all ranks, beside those that are reduced.
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/nn/modules/linear.h>

#include <lockstep/kernels/linear.h>
#include <lockstep/parallel/distributed_data_parallel.h>
#include <lockstep/parallel/not_finite_error.h>

#include "scoped_variable.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kWide = 1024;  // a million weights, as few as kernels::linear takes

// Two layers, the second of which can also come first.
struct WideNetImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& input) {
    return apply(second, (twice ? apply(second, input) : apply(first, input)).tanh());
  }
  static at::Tensor apply(torch::nn::Linear& layer, const at::Tensor& input) {
    if (!kernels::can_linear(input, layer->weight, layer->bias)) return layer->forward(input);
    return kernels::linear(input, layer->weight, layer->bias);
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(kWide, kWide));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(kWide, kWide));
  bool twice = false;
};
TORCH_MODULE(WideNet);

// What a test does to the net with its DDP; `step` is a forward and a backward pass over so many samples of this rank.
struct Training {
  WideNet net;
  DistributedDataParallel<WideNet> ddp;
  void step(std::int64_t samples, std::uint64_t seed = 1) {
    at::manual_seed(seed * 100 + static_cast<std::uint64_t>(world().rank()));
    ddp.forward(at::randn({samples, kWide})).square().sum().backward();
  }
};

using Body = std::function<void(Training&)>;

struct Trained {
  std::vector<at::Tensor> gradients;
  std::int64_t factored = 0;
};

Trained train(const Body& body, const DistributedDataParallelOptions& options, bool transposed) {
  at::manual_seed(0);
  WideNet net;
  if (transposed) net->first->weight.set_data(net->first->weight.detach().t().contiguous().t());
  Training training{net, {net, world(), options}};
  body(training);
  Trained trained{.gradients = {}, .factored = training.ddp.stats().factored};
  for (const at::Tensor& parameter : net->parameters()) {
    if (parameter.grad().defined()) trained.gradients.push_back(parameter.grad().clone(at::MemoryFormat::Contiguous));
  }
  return trained;
}

// Both ways give the same, up to the rounding of other sums; and every rank has the same bits.
void expect_same(const Body& body, std::int64_t factored, DistributedDataParallelOptions options = {},
                 bool transposed = false) {
  const Trained found = train(body, options, transposed);
  options.share_factors = false;
  const Trained wanted = train(body, options, transposed);
  EXPECT_EQ(found.factored, factored);
  EXPECT_EQ(wanted.factored, 0);
  ASSERT_EQ(found.gradients.size(), wanted.gradients.size());
  for (std::size_t i = 0; i < found.gradients.size(); ++i) {
    const double error = (found.gradients[i] - wanted.gradients[i]).abs().max().item<double>();
    EXPECT_LT(error, 1e-5 * wanted.gradients[i].abs().max().item<double>()) << i;
    for (const at::Tensor& other : world().all_gather(found.gradients[i])) {
      EXPECT_TRUE(other.equal(found.gradients[i])) << i;
    }
  }
}

TEST(SharedFactors, GiveTheAverageOfAllRanks) {
  for (const bool overlap : {true, false}) {
    expect_same([](Training& training) { training.step(4); }, 2, {.overlap = overlap});
  }
}

TEST(SharedFactors, GoOnStepByStep) {
  const auto steps = [](Training& training) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      training.net->zero_grad();
      training.step(4, seed);
    }
  };
  expect_same(steps, 2);
  expect_same(steps, 2, {.static_graph = true});
}

TEST(SharedFactors, MayBeOfDifferentNumbersOfSamples) {
  expect_same([](Training& training) { training.step(3 + world().rank()); }, 2);
  expect_same([](Training& training) { training.step(world().rank()); }, 2);  // none on rank 0
}

TEST(SharedFactors, AreSharedAlsoInALargerBatchThanTheFirst) {
  expect_same(
      [](Training& training) {
        training.step(4);
        training.net->zero_grad();
        training.step(70);
      },
      2);
}

TEST(SharedFactors, AreNotWhereSamplesAreMany) {
  expect_same([](Training& training) { training.step(100); }, 0);
}

// Also of a step in which they were shared before.
TEST(SharedFactors, LeaveGradientsToEachRank) {
  expect_same(
      [](Training& training) {
        training.step(4, 1);
        for (const at::Tensor& parameter : training.net->parameters()) parameter.grad().mul_(1 + world().rank());
        world().barrier();
        const at::Tensor changed = training.net->first->weight.grad().clone();
        training.net->zero_grad();
        training.step(4, 1);
        const at::Tensor again = training.net->first->weight.grad() * (1 + world().rank());
        EXPECT_TRUE(changed.equal(again));
      },
      2);
}

TEST(SharedFactors, AreNotWhereGradientsLieOutsideOfBuckets) {
  expect_same([](Training& training) { training.step(4); }, 0, {.gradient_as_bucket_view = false});
}

// Gradients that are more than the product are reduced like others.
TEST(SharedFactors, AreRightForAWeightThatIsUsedTwice) {
  expect_same(
      [](Training& training) {
        training.net->twice = true;
        training.net->first->weight.requires_grad_(false);
        training.step(4);
      },
      0, {.static_graph = true});
}

TEST(SharedFactors, AreRightForAWeightThatIsPartOfTheLossToo) {
  expect_same(
      [](Training& training) {
        at::manual_seed(static_cast<std::uint64_t>(world().rank()));
        const at::Tensor outputs = training.ddp.forward(at::randn({4, kWide}));
        (outputs.square().sum() + training.net->first->weight.square().sum()).backward();
      },
      1);
}

// Its part comes from the first node of backward, before the layer's.
struct Penalized : torch::autograd::Function<Penalized> {
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& loss, const at::Tensor& weight) {
    return loss + weight.sum();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list& gradients) {
    return {gradients[0], gradients[0].expand({kWide, kWide}) * (1 + world().rank())};
  }
};

TEST(SharedFactors, AreRightForAWeightThatTheLossItselfTakes) {
  expect_same(
      [](Training& training) {
        at::manual_seed(static_cast<std::uint64_t>(world().rank()));
        const at::Tensor loss = training.ddp.forward(at::randn({4, kWide})).square().sum();
        Penalized::apply(loss, training.net->first->weight).backward();
      },
      1);
}

TEST(SharedFactors, AreRightWhereAForwardWithoutSynchronizationCameBetween) {
  expect_same(
      [](Training& training) {
        at::manual_seed(static_cast<std::uint64_t>(world().rank()));
        const at::Tensor loss = training.ddp.forward(at::randn({4, kWide})).square().sum();
        {
          const auto no_sync = training.ddp.no_sync();
          training.ddp.forward(at::randn({4, kWide}));
        }
        loss.backward();
      },
      0);
}

// A rank multiplies its own factors after all, into a gradient that has other strides than the product.
TEST(SharedFactors, AreRightForTransposedWeightsThatOneRankLooksAt) {
  expect_same(
      [](Training& training) {
        if (world().rank() == 1) {
          training.net->first->weight.register_hook([](at::Tensor gradient) { return gradient * 2; });
        }
        training.step(4);
      },
      1, {}, /*transposed=*/true);
}

TEST(SharedFactors, AreRightForGradientsThatAddUp) {
  expect_same(
      [](Training& training) {
        {
          const auto no_sync = training.ddp.no_sync();
          training.step(4, 1);
        }
        training.step(4, 2);
      },
      0);
}

TEST(SharedFactors, AreRightWhereGradientsAddUpOnOneRank) {
  expect_same(
      [](Training& training) {
        if (world().rank() == 1) {
          const auto no_sync = training.ddp.no_sync();
          training.step(4, 1);
        }
        training.step(4, 2);
      },
      0);
}

TEST(SharedFactors, AreThisRanksOwnWhereTheNetOutlivesItsDdp) {
  at::manual_seed(static_cast<std::uint64_t>(world().rank()));
  WideNet net;
  const at::Tensor input = at::randn({4, kWide});
  at::Tensor loss;
  {
    DistributedDataParallel ddp(net, world());
    loss = ddp.forward(input).square().sum();
  }
  loss.backward();
  const at::Tensor found = net->first->weight.grad().clone();
  net->zero_grad();
  net->forward(input).square().sum().backward();
  EXPECT_TRUE(found.equal(net->first->weight.grad()));
}

TEST(SharedFactors, AreRightForAGradientThatAHookChanges) {
  expect_same(
      [](Training& training) {
        const double factor = 1 + world().rank();
        training.net->first->weight.register_hook([factor](at::Tensor gradient) { gradient.mul_(factor); });
        training.step(4);
      },
      1);
}

TEST(SharedFactors, AreLeftAloneByHooksAndInJoins) {
  expect_same([](Training& training) { training.step(4); }, 0, {.find_unused_parameters = true});
  expect_same([](Training& training) { training.ddp.join([&] { training.step(4); }); }, 0);
}

TEST(SharedFactors, NameTheRankOfANan) {
  at::manual_seed(0);
  WideNet net;
  DistributedDataParallel ddp(net, world());
  at::Tensor input = at::randn({4, kWide});
  if (world().rank() == 1) input[0][0] = std::numeric_limits<float>::quiet_NaN();
  std::string error;
  try {
    ddp.forward(input).sum().backward();
  } catch (const parallel::NotFiniteError& thrown) {
    error = thrown.what();
  }
  EXPECT_THAT(error, AllOf(HasSubstr("gradients are not finite"), HasSubstr("rank 1: "), HasSubstr("first.weight"),
                           Not(HasSubstr("rank 0: "))));
}

// Their bits would differ from rank to rank.
TEST(SharedFactors, AreNotWhereKernelsDiffer) {
  const ScopedVariable level("LOCKSTEP_KERNEL_LEVEL", world().rank() == 1 ? "base" : "avx512");
  expect_same([](Training& training) { training.step(4); }, 0);
}

}  // namespace
}  // namespace lockstep::test

#include <lockstep/amp/autocast.h>

#include <algorithm>
#include <thread>
#include <vector>

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include <lockstep/base/cpu.h>
#include <lockstep/base/errors.h>
#include <lockstep/parallel/data_parallel.h>

#include "throws_with.h"

namespace lockstep::test {
namespace {

using amp::Autocast;

// The type in which a product of two fp32 tensors is computed here and now.
at::ScalarType type_of_product() {
  return at::mm(at::ones({2, 2}), at::ones({2, 2})).scalar_type();
}

// What a guard changes, of the calling thread.
using State = std::tuple<bool, at::ScalarType, bool, bool>;
State state() {
  return {at::autocast::is_autocast_enabled(at::kCUDA), at::autocast::get_autocast_dtype(at::kCUDA),
          at::autocast::is_autocast_enabled(at::kCPU), at::autocast::is_autocast_cache_enabled()};
}

TEST(Autocast, ComputesIn16BitsWhileItLives) {
  EXPECT_EQ(type_of_product(), at::kFloat);
  {
    const Autocast autocast(at::kCPU, at::kBFloat16);
    EXPECT_EQ(type_of_product(), at::kBFloat16);
    // What needs it stays in fp32.
    EXPECT_EQ(torch::mse_loss(at::ones({2}, at::kBFloat16), at::ones({2}, at::kBFloat16)).scalar_type(), at::kFloat);
  }
  EXPECT_EQ(type_of_product(), at::kFloat);
}

TEST(Autocast, NestsAndBringsBackWhatWasBefore) {
  const State outside = state();
  {
    const Autocast first(at::kCUDA, at::kBFloat16);
    const State in_first = state();
    EXPECT_EQ(in_first, (State{true, at::kBFloat16, false, true}));
    {
      const Autocast second(at::kCUDA, at::kHalf);
      EXPECT_EQ(state(), (State{true, at::kHalf, false, true}));
      const Autocast on_cpu(at::kCPU, at::kBFloat16);
      EXPECT_EQ(state(), (State{true, at::kHalf, true, true}));
    }
    EXPECT_EQ(state(), in_first);
    {
      const Autocast off(at::kCUDA, std::nullopt);
      EXPECT_FALSE(std::get<0>(state()));
    }
    EXPECT_EQ(state(), in_first);
  }
  EXPECT_EQ(state(), outside);
}

TEST(Autocast, AnExceptionEndsIt) {
  const State outside = state();
  EXPECT_THROW(
      {
        const Autocast autocast(at::kCPU, at::kBFloat16);
        throw std::runtime_error("forward failed");
      },
      std::runtime_error);
  EXPECT_EQ(state(), outside);
  EXPECT_EQ(at::autocast::increment_nesting(), 1);
  at::autocast::decrement_nesting();
}

TEST(Autocast, CastsAParameterOnceAndForgetsItAtTheOutermostEnd) {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto input = torch::ones({2, 2});
  const auto product = [&] { return at::mm(input, weight)[0][0].item<float>(); };
  const auto write = [&](double value) {
    const torch::NoGradGuard no_gradients;
    weight.fill_(value);
  };
  {
    const Autocast outer(at::kCPU, at::kBFloat16);
    EXPECT_EQ(product(), 2);
    write(3);
    EXPECT_EQ(product(), 2) << "the cast is kept";
    {
      const Autocast inner(at::kCPU, at::kBFloat16);
      EXPECT_EQ(product(), 2);
    }
    EXPECT_EQ(product(), 2) << "the end of an inner guard does not drop it";
  }
  const Autocast again(at::kCPU, at::kBFloat16);
  EXPECT_EQ(product(), 6);
}

TEST(Autocast, AnotherTypeInsideGetsItsOwnCasts) {
  const auto weight = torch::ones({2, 2}, torch::requires_grad());
  const auto type = [&] { return at::mm(torch::ones({2, 2}), weight).scalar_type(); };
  const Autocast outer(at::kCPU, at::kBFloat16);
  EXPECT_EQ(type(), at::kBFloat16);
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);  // as a guard on a CPU with fp16
  {
    const Autocast inner(at::kCPU, at::kBFloat16);
    EXPECT_EQ(type(), at::kBFloat16);
  }
  EXPECT_EQ(type(), at::kHalf);
}

TEST(Autocast, BelongsToItsThread) {
  const Autocast autocast(at::kCPU, at::kBFloat16);
  at::ScalarType elsewhere = at::kByte;
  std::thread([&] { elsewhere = type_of_product(); }).join();
  EXPECT_EQ(elsewhere, at::kFloat);
}

TEST(Autocast, GoesAlongToTheDevicesOfDataParallel) {
  struct TypeImpl : torch::nn::Cloneable<TypeImpl> {
    void reset() override {}
    at::Tensor forward(const at::Tensor& x) {
      return at::full({x.size(0)}, static_cast<int>(type_of_product()), at::kInt);
    }
  };
  DataParallel parallel(torch::nn::ModuleHolder<TypeImpl>(), std::vector<at::Device>(3, at::kCPU));
  const auto on_all = [&](at::ScalarType type) {
    return parallel.forward(torch::ones({6, 1})).eq(static_cast<int>(type)).all().item<bool>();
  };
  {
    const Autocast autocast(at::kCPU, at::kBFloat16);
    EXPECT_TRUE(on_all(at::kBFloat16));
  }
  EXPECT_TRUE(on_all(at::kFloat));
}

TEST(Autocast, IsOffForAPrecisionWithoutIt) {
  const Autocast o0(at::kCPU, amp::parse_precision("O0"));
  EXPECT_EQ(type_of_product(), at::kFloat);
  const Autocast bf16(at::kCPU, amp::parse_precision("bf16"));
  EXPECT_EQ(type_of_product(), at::kBFloat16);
}

TEST(Autocast, RefusesWhatItCannotDo) {
  const State outside = state();
  EXPECT_THAT([] { Autocast(at::kCPU, at::kDouble); }, ThrowsWith<UsageError>("16 bits"));
  EXPECT_THAT([] { Autocast(at::kMeta, at::kBFloat16); }, ThrowsWith<UsageError>("meta"));
  const auto sets = cpu::instruction_sets();
  const auto fp16_on_cpu = [] { Autocast(at::kCPU, at::kHalf); };
  if (std::find(sets.begin(), sets.end(), "avx512fp16") == sets.end()) {
    EXPECT_THAT(fp16_on_cpu, ThrowsWith<UsageError>("use bf16, which works on every CPU"));
  } else {
    EXPECT_NO_THROW(fp16_on_cpu());
  }
  EXPECT_EQ(state(), outside);
}

}  // namespace
}  // namespace lockstep::test

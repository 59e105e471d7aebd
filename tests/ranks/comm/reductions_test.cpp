// Conformance of reductions: every operation on every type, exact on every rank.
#include <array>

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "oracle.h"
#include "world.h"

namespace lockstep::test {
namespace {

constexpr std::array kOperations = {Reduce::kSum, Reduce::kAverage, Reduce::kProduct, Reduce::kMin,
                                    Reduce::kMax, Reduce::kBitAnd,  Reduce::kBitOr,   Reduce::kBitXor};
// Nothing, one, odd, and (for one type) more than one piece of any pipeline.
constexpr std::int64_t kLarge = 700'001;
constexpr std::array<std::int64_t, 4> kCounts = {0, 1, 1027, kLarge};

// bfloat16 and float16 round thirds: then the answer is the rounded one.
void expect_equal(const at::Tensor& found, const at::Tensor& expected, Reduce op) {
  const std::string what = c10::str(found.scalar_type(), ", operation ", static_cast<int>(op), ", ", found.numel());
  if (op == Reduce::kAverage && world().size() == 3) {
    // A third is rounded once or twice, depending on where the division is done.
    EXPECT_TRUE(found.to(at::kDouble).allclose(expected.to(at::kDouble), 1e-2, 0)) << what;
  } else {
    EXPECT_TRUE(at::equal(found, expected)) << what;
  }
}

template <typename Check>
void for_all(Check&& check) {
  for (const at::ScalarType type : reduced_types()) {
    for (const Reduce op : kOperations) {
      if (!applies(op, type)) continue;
      for (const std::int64_t count : kCounts) {
        if (count < kLarge || type == at::kFloat) check(type, op, count);
      }
    }
  }
}

TEST(AllReduce, IsExactForEveryTypeAndOperation) {
  for_all([](at::ScalarType type, Reduce op, std::int64_t count) {
    const at::Tensor tensor = input_tensor(world().rank(), count, type);
    world().all_reduce(tensor, op);
    expect_equal(tensor, reduced_tensor(world().size(), count, type, op), op);
  });
}

TEST(AllReduce, SeveralUnderWayKeepTheirOrder) {
  std::vector<at::Tensor> tensors;
  std::vector<Work> works;
  for (int i = 0; i < 20; ++i) {
    tensors.push_back(full({1000 * (i + 1)}, world().rank() + i, at::kLong));
    works.push_back(world().all_reduce_async(tensors.back()));
  }
  for (int i = 19; i >= 0; --i) {
    works[static_cast<std::size_t>(i)].wait(std::chrono::seconds(60));
    const int n = world().size();
    EXPECT_TRUE(tensors[static_cast<std::size_t>(i)].eq(n * (n - 1) / 2 + n * i).all().item<bool>());
  }
}

TEST(AllReduce, TakesChannelsLastInPlace) {
  const at::Tensor value = full({2, 3, 4, 4}, world().rank(), at::kFloat).contiguous(at::MemoryFormat::ChannelsLast);
  world().all_reduce(value, Reduce::kMax);
  EXPECT_TRUE(value.eq(world().size() - 1).all().item<bool>());
}

// Numbers whose sum depends on its order.
at::Tensor rounding_input(std::int64_t count) {
  return input_tensor(world().rank(), count, at::kFloat).div_(7).add_(world().rank() * 1e-3);
}

TEST(AllReduce, IsBitEqualOnEveryRankForAnyNumbers) {
  const at::Tensor tensor = rounding_input(100'003);
  world().all_reduce(tensor);
  const at::Tensor of_rank_zero = tensor.clone();
  world().broadcast(of_rank_zero);
  EXPECT_TRUE(at::equal(tensor, of_rank_zero));
}

TEST(Reductions, GiveTheSameBitsEveryTime) {
  const int size = world().size();
  for (const std::int64_t count : {1000, 5000, 20'000, 100'003, 700'001}) {
    std::vector<at::Tensor> first;
    for (int i = 0; i < 10; ++i) {
      const at::Tensor all = rounding_input(count), one = rounding_input(count), part = zeros({count});
      world().all_reduce(all);
      world().reduce(one, size - 1);
      world().reduce_scatter(part, rounding_input(count * size));
      if (first.empty()) first = {all, one, part};
      EXPECT_TRUE(at::equal(all, first[0])) << "all_reduce of " << count;
      EXPECT_TRUE(at::equal(one, first[1])) << "reduce of " << count;
      EXPECT_TRUE(at::equal(part, first[2])) << "reduce_scatter of " << count;
    }
  }
}

TEST(ReduceToRoot, GivesTheRootAloneTheAnswer) {
  for_all([](at::ScalarType type, Reduce op, std::int64_t count) {
    if (count == kLarge) return;
    const int root = world().size() - 1;
    const at::Tensor tensor = input_tensor(world().rank(), count, type);
    const at::Tensor before = tensor.clone();
    world().reduce(tensor, root, op);
    if (world().rank() == root) {
      expect_equal(tensor, reduced_tensor(world().size(), count, type, op), op);
    } else {
      EXPECT_TRUE(at::equal(tensor, before));
    }
  });
}

TEST(ReduceScatter, GivesEachRankItsPart) {
  for_all([](at::ScalarType type, Reduce op, std::int64_t count) {
    const at::Tensor input = input_tensor(world().rank(), count * world().size(), type);
    const at::Tensor before = input.clone();
    const at::Tensor output = zeros({count}, type);
    world().reduce_scatter(output, input, op);
    const at::Tensor all = reduced_tensor(world().size(), count * world().size(), type, op);
    expect_equal(output, all.narrow(0, world().rank() * count, count), op);
    EXPECT_TRUE(at::equal(input, before));
  });
}

TEST(Reductions, RefuseWhatTheyCannotDo) {
  EXPECT_THROW(world().all_reduce(at::Tensor()), UsageError);
  EXPECT_THROW(world().all_reduce(zeros({4, 4}).slice(1, 0, 2)), UsageError);
  EXPECT_THROW(world().all_reduce(zeros({4}, at::kLong), Reduce::kAverage), UsageError);
  EXPECT_THROW(world().all_reduce(zeros({4}), Reduce::kBitOr), UsageError);
  EXPECT_THROW(world().all_reduce(zeros({4}, at::kComplexFloat)), UsageError);
  EXPECT_THROW(world().reduce(zeros({4}), world().size()), UsageError);
  world().barrier();  // and the group still works
}

}  // namespace
}  // namespace lockstep::test

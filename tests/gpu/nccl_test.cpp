// The verbs of Group on tensors in a GPU's memory, and on the CPU beside them.
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "oracle.h"
#include "world.h"

namespace lockstep::test {
namespace {

at::Tensor on_gpu(const at::Tensor& tensor) {
  return tensor.to(at::kCUDA);
}

TEST(Nccl, AllReduceIsExact) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble, at::kInt, at::kLong}) {
    for (const Reduce op : {Reduce::kSum, Reduce::kProduct, Reduce::kMin, Reduce::kMax}) {
      const at::Tensor tensor = on_gpu(input_tensor(world().rank(), 100'003, type));
      world().all_reduce(tensor, op);
      EXPECT_TRUE(at::equal(tensor.cpu(), reduced_tensor(world().size(), 100'003, type, op)));
    }
  }
}

TEST(Nccl, MovesTensors) {
  const at::Tensor tensor = on_gpu(at::full({1000}, world().rank(), at::kFloat));
  world().broadcast(tensor, world().size() - 1);
  EXPECT_TRUE(tensor.eq(world().size() - 1).all().item<bool>());
  const at::Tensor all = on_gpu(at::zeros({world().size() * 10}, at::kLong));
  world().all_gather_into(all, on_gpu(at::full({10}, world().rank(), at::kLong)));
  EXPECT_EQ(all.sum().item<std::int64_t>(), 10 * world().size() * (world().size() - 1) / 2);
  const at::Tensor part = on_gpu(at::zeros({4}));
  world().reduce_scatter(part, on_gpu(at::full({4 * world().size()}, 2, at::kFloat)));
  EXPECT_TRUE(part.eq(2 * world().size()).all().item<bool>());
  world().barrier();
}

TEST(Nccl, LeavesCpuTensorsToACpuBackend) {
  EXPECT_EQ(world().all_reduce_value(std::int64_t{1}), world().size());
}

}  // namespace
}  // namespace lockstep::test

// Tensors of more than 2^31 elements. They take 10 GiB and a minute, so they are part of the full set only.
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <lockstep/base/environment.h>

#include "world.h"

namespace lockstep::test {
namespace {

constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 5;

class HugeTensors : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!env::get_bool("LOCKSTEP_TEST_FULL").value_or(false)) GTEST_SKIP() << "only with LOCKSTEP_TEST_FULL=1";
  }
};

TEST_F(HugeTensors, AreReduced) {
  const at::Tensor tensor = at::full({kCount}, world().rank() + 1, at::kByte);
  const int sum = world().size() * (world().size() + 1) / 2;
  world().all_reduce(tensor);
  EXPECT_TRUE(tensor.eq(sum).all().item<bool>());
  world().all_reduce(tensor, Reduce::kBitOr);
  EXPECT_TRUE(tensor.eq(sum).all().item<bool>());
}

TEST_F(HugeTensors, AreMoved) {
  const at::Tensor tensor = at::full({kCount}, world().rank() + 1, at::kByte);
  world().broadcast(tensor, world().size() - 1);
  EXPECT_TRUE(tensor.eq(world().size()).all().item<bool>());
  if (world().size() == 1) return;
  tensor.fill_(world().rank() + 1);
  if (world().rank() == 0) world().send(tensor, 1);
  if (world().rank() == 1) world().receive(tensor, 0);
  EXPECT_TRUE(world().rank() > 1 || tensor.eq(1).all().item<bool>());
}

}  // namespace
}  // namespace lockstep::test

// Tensors of more than 2^31 elements, more than an int can count. Gigabytes: only in the full set of tests.
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include "world.h"

namespace lockstep::test {
namespace {

constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 1027;

// Piece by piece, because the answer to a comparison is as large as the tensor.
bool all_are(const at::Tensor& tensor, int value) {
  constexpr std::int64_t kPiece = 1 << 24;
  for (std::int64_t begin = 0; begin < tensor.numel(); begin += kPiece) {
    const auto piece = tensor.narrow(0, begin, std::min(kPiece, tensor.numel() - begin));
    if (!piece.eq(value).all().item<bool>()) return false;
  }
  return true;
}

TEST(LargeTensor, IsReducedWhole) {
  const at::Tensor tensor = at::full({kCount}, world().rank() + 1, at::kChar);
  world().all_reduce(tensor);
  EXPECT_TRUE(all_are(tensor, world().size() * (world().size() + 1) / 2));
}

TEST(LargeTensor, IsBroadcastWhole) {
  const at::Tensor tensor = at::full({kCount}, world().rank() + 1, at::kByte);
  world().broadcast(tensor, world().size() - 1);
  EXPECT_TRUE(all_are(tensor, world().size()));
}

TEST(LargeTensor, IsSentWhole) {
  const at::Tensor tensor = at::full({kCount}, world().rank() + 1, at::kByte);
  if (world().rank() == 0) world().send(tensor, world().size() - 1);
  if (world().rank() == world().size() - 1) {
    world().receive(tensor, 0);
    EXPECT_TRUE(all_are(tensor, 1));
  }
}

}  // namespace
}  // namespace lockstep::test

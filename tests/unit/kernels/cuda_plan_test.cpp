// How the kernels for GPUs divide a batch. This needs no GPU.
#include "kernels/cuda/plan.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace lockstep::kernels::cuda {
namespace {

constexpr Device kH200{.multiprocessors = 132, .shared_bytes = 232448};
constexpr Device kA100{.multiprocessors = 108, .shared_bytes = 166912};
constexpr SharedNeeds kNeeds{.depth = 8, .stage_bytes = kStageBytes, .other_bytes = 9 * kStageBytes};

std::vector<Rows> some_shapes() {
  std::vector<Rows> shapes;
  for (const Number type : {Number::kFloat, Number::kBFloat16}) {
    for (const std::int64_t rows : {1, 2, 63, 64, 65, 1000, 4096, 16384, 65536, 262144, 803'000, 3'211'264}) {
      for (const std::int64_t channels : {8, 64, 72, 256, 512, 1024, 2048, 8448, 20000}) {
        shapes.push_back({.type = type, .rows = rows, .channels = channels});
      }
    }
  }
  return shapes;
}

TEST(CudaPlan, GivesEveryRowToOneBlock) {
  for (const Rows& shape : some_shapes()) {
    for (const Device& device : {kH200, kA100}) {
      const Division batch = plan_for(shape, device, kNeeds).batch;
      std::int64_t rows = 0;
      int next = 0;
      for (int split = 0; split < batch.splits; ++split) {
        const Stages part = batch.of(split);
        EXPECT_EQ(part.begin, next);
        EXPECT_GT(part.end, part.begin);  // a block without rows would have no first one
        EXPECT_GT(batch.rows_of(part), 0);
        rows += batch.rows_of(part);
        next = part.end;
      }
      EXPECT_EQ(next, batch.stages);
      EXPECT_EQ(rows, shape.rows);
      EXPECT_GE(static_cast<std::int64_t>(batch.chunks) * kVectors * vector_width(shape.type), shape.channels);
    }
  }
}

TEST(CudaPlan, FitsTheDevice) {
  for (const Rows& shape : some_shapes()) {
    for (const Device& device : {kH200, kA100}) {
      const Plan plan = plan_for(shape, device, kNeeds);
      EXPECT_LE(plan.shared_bytes, device.shared_bytes);
      const Stages longest = plan.batch.of(0);
      const int slots = (plan.shared_bytes - kNeeds.other_bytes) / kNeeds.stage_bytes;
      EXPECT_GE(slots, std::min(longest.end - longest.begin, kNeeds.depth));
      EXPECT_EQ(plan.kept, std::max(0, slots - kNeeds.depth));
      if (plan.batch.splits > 1) {
        EXPECT_LE(plan.blocks(), device.multiprocessors) << "blocks that wait for one that has no place";
        EXPECT_GE(told_bytes(device), 16LL * plan.batch.splits * shape.channels);
      }
      EXPECT_GE(partial_floats(shape, device, 2), 2LL * plan.batch.splits * shape.channels);
    }
  }
}

TEST(CudaPlan, OfResnet50FillsAnH200) {
  const auto plan = [](std::int64_t side, std::int64_t channels) {
    return plan_for({.type = Number::kBFloat16, .rows = 256 * side * side, .channels = channels}, kH200, kNeeds);
  };
  EXPECT_EQ(plan(32, 64).blocks(), 132);
  EXPECT_EQ(plan(32, 256).blocks(), 132);
  EXPECT_EQ(plan(16, 512).blocks(), 128);
  EXPECT_EQ(plan(8, 1024).blocks(), 128);
  EXPECT_EQ(plan(4, 2048).blocks(), 128);
  EXPECT_EQ(plan(4, 512).blocks(), 128) << "a small batch";
}

}  // namespace
}  // namespace lockstep::kernels::cuda

#include "plan.h"

#include <algorithm>

namespace lockstep::kernels::cuda {
namespace {

constexpr int divide_up(int value, int by) {
  return (value + by - 1) / by;
}

int channels_of_chunk(const Rows& shape) {
  return kVectors * vector_width(shape.type);
}

// A GPU is made of parts of 16 or 18 multiprocessors, some of which may be missing, and a cluster has its place within
// one of them. So clusters that need nearly all multiprocessors may not run all at once, and then take twice as long.
bool makes_clusters(const Division& batch, const Device& device) {
  const int blocks = batch.splits;
  return device.clusters && blocks >= 2 && blocks <= kMostInCluster && (blocks & (blocks - 1)) == 0 &&
         batch.chunks * blocks <= device.multiprocessors / 2;
}

// As many as there are multiprocessors for. Of a small batch no more than make a cluster: the meeting of more blocks
// would take longer than their work.
int splits_of(const Division& batch, const Device& device) {
  constexpr int kFewStages = 8;  // of a block
  if (batch.chunks > kMostChunks) return 1;
  const int most = std::clamp(device.multiprocessors / batch.chunks, 1, batch.stages);
  if (!device.clusters || batch.stages > kFewStages * kMostInCluster) return most;
  int cluster = kMostInCluster;
  while (cluster > most) cluster /= 2;
  return cluster;
}

}  // namespace

Division division_of(const Rows& shape) {
  const int rows = static_cast<int>(shape.rows), channels = static_cast<int>(shape.channels);
  return {.rows = rows,
          .channels = channels,
          .chunks = divide_up(channels, channels_of_chunk(shape)),
          .stages = divide_up(rows, kRows),
          .splits = 1};
}

int splits_for(const Rows& shape, const Device& device) {
  return splits_of(division_of(shape), device);
}

Plan plan_for(const Rows& shape, const Device& device, const SharedNeeds& needs) {
  Plan plan{.batch = division_of(shape)};
  plan.batch.splits = splits_for(shape, device);
  plan.meeting = plan.batch.splits == 1               ? Meeting::kAlone
                 : makes_clusters(plan.batch, device) ? Meeting::kCluster
                                                      : Meeting::kGrid;
  const int stages = divide_up(plan.batch.stages, plan.batch.splits);
  const int slots = std::min(stages, (device.shared_bytes - needs.other_bytes) / needs.stage_bytes);
  plan.kept = std::max(0, slots - needs.depth);
  plan.shared_bytes = needs.other_bytes + slots * needs.stage_bytes;
  return plan;
}

std::int64_t partial_floats(const Rows& shape, const Device& device, int arrays) {
  const Division batch = division_of(shape);
  const int blocks = std::max(batch.chunks, device.multiprocessors);
  return static_cast<std::int64_t>(arrays) * blocks * channels_of_chunk(shape);
}

}  // namespace lockstep::kernels::cuda

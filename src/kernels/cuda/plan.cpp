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

// As many as there are multiprocessors for.
int splits_of(const Division& batch, const Device& device) {
  return std::clamp(device.multiprocessors / batch.chunks, 1, batch.stages);
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
  const int stages = divide_up(plan.batch.stages, plan.batch.splits);
  const int slots = std::min(stages, (device.shared_bytes - needs.other_bytes) / needs.stage_bytes);
  plan.kept = std::max(0, slots - needs.depth);
  plan.shared_bytes = needs.other_bytes + slots * needs.stage_bytes;
  return plan;
}

std::int64_t told_bytes(const Device& device) {
  constexpr std::int64_t kMostChannels = std::int64_t{kVectors} * kVectorBytes / 2;
  return device.multiprocessors * kMostChannels * kToldBytes;
}

std::int64_t partial_floats(const Rows& shape, const Device& device, int blocks) {
  const int chunks = division_of(shape).chunks;
  return static_cast<std::int64_t>(blocks) * std::max(chunks, device.multiprocessors) * channels_of_chunk(shape);
}

}  // namespace lockstep::kernels::cuda

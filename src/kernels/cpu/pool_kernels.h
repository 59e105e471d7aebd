// The loops of pooling, over pictures or volumes whose channels come last. They are compiled once for each instruction
// set, so nothing inline may come from here that another file could share.
#pragma once
#include <cstdint>

#include "bfloat16.h"

namespace lockstep::kernels {

// What is done to the values before their maximum is taken. Both keep their order, so it is done to the maximum.
enum class PoolAct { kNone, kRelu, kLeakyRelu };

// Of depth, height and width; a picture is a volume of depth 1.
struct PoolShape {
  std::int64_t channels = 0;
  std::int64_t in[3] = {}, out[3] = {}, kernel[3] = {}, stride[3] = {}, padding[3] = {};
  PoolAct act = PoolAct::kNone;
  float slope = 0;  // of the leaky ReLU
};

// A row goes over the width: of all samples, depths and heights, those from `begin` to `end`. A Value is a float or a
// Bfloat16; sums are floats.
template <typename Value>
struct PoolKernels {
  // `places` gets the place of each maximum in its window, with kNotPositive added where the maximum is not above 0 and
  // there is an act.
  void (*max_pool)(const PoolShape& shape, Value* y, std::uint8_t* places, const Value* x, std::int64_t begin,
                   std::int64_t end);
  // Rows of the input. Each gradient is the sum over the windows that found their maximum there, in their order.
  void (*max_pool_gradient)(const PoolShape& shape, Value* out, const Value* gradient, const std::uint8_t* places,
                            std::int64_t begin, std::int64_t end);
  // The mean of `positions` rows of channels, and its gradient.
  void (*average)(Value* y, const Value* x, std::int64_t positions, std::int64_t channels);
  void (*average_gradient)(Value* out, const Value* gradient, std::int64_t positions, std::int64_t channels);
};

constexpr std::uint8_t kNotPositive = 128;  // windows have no more places than this

// Those of one instruction set.
struct PoolLevel {
  PoolKernels<float> floats;
  PoolKernels<Bfloat16> bfloats;
};
extern const PoolLevel kPoolAvx2, kPoolAvx512;

// For this CPU; null where it has not enough.
const PoolLevel* pool_level();

}  // namespace lockstep::kernels

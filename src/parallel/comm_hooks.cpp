#include <lockstep/parallel/comm_hooks.h>

namespace lockstep {
namespace {

CommHook compression(at::ScalarType type) {
  return [type](const GradientBucket& bucket, const Group& group) {
    const at::Tensor small = bucket.buffer.div(group.size()).to(type);
    return BucketWork{group.all_reduce_async(small), [buffer = bucket.buffer, small] { buffer.copy_(small); }};
  };
}

}  // namespace

CommHook fp16_compression() {
  return compression(at::kHalf);
}

CommHook bf16_compression() {
  return compression(at::kBFloat16);
}

}  // namespace lockstep

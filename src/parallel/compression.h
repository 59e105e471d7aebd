#pragma once
#include <c10/core/ScalarType.h>

#include <lockstep/parallel/distributed_optimizer.h>

namespace lockstep::parallel {

// What a tensor of `type` is sent as. Only the wide floating-point types are compressed.
inline at::ScalarType type_on_the_way(at::ScalarType type, Compression compression) {
  const bool wide = type == at::kFloat || type == at::kDouble;
  if (!wide || compression == Compression::kNone) return type;
  return compression == Compression::kFp16 ? at::kHalf : at::kBFloat16;
}

}  // namespace lockstep::parallel

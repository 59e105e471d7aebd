#include "reduction.h"

namespace lockstep::comm {

AdaptedReduction adapt_for_gloo(const at::Tensor& tensor, const at::Tensor& result, Reduce op, int size) {
  if (op == Reduce::kAverage) {
    return {tensor, Reduce::kSum, [result, size] { result.div_(size); }};
  }
  if (tensor.scalar_type() == at::kShort) {
    const at::Tensor wide = tensor.to(at::kInt);
    return {wide, op, [result, wide] { result.copy_(wide); }};
  }
  return {tensor, op, {}};
}

}  // namespace lockstep::comm

// What Gloo's reductions lack: averages, and 16-bit whole numbers.
#pragma once
#include <functional>

#include <ATen/core/Tensor.h>

#include <lockstep/comm/reduce.h>

namespace lockstep::comm {

struct AdaptedReduction {
  at::Tensor tensor;            // what is reduced instead
  Reduce op;                    // and how
  std::function<void()> after;  // to be called when that is done; empty when nothing is left to do
};

// A reduction of `tensor` over `size` ranks that Gloo can do, whose result `after` puts into `result`.
AdaptedReduction adapt_for_gloo(const at::Tensor& tensor, const at::Tensor& result, Reduce op, int size);

}  // namespace lockstep::comm

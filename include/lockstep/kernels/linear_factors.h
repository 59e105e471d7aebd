// A linear layer's weight gradient is a product of two factors that have a row for each sample: the gradient of its
// output, and its input. Where samples are few, ranks that train together send one another these factors, each
// multiplies those of all ranks, and the far larger product need not travel.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::kernels {

struct LinearFactors {
  at::Tensor gradient;  // [sample][output]
  at::Tensor input;     // [sample][feature]
};

// For one layer, in its backward pass: gives the factors to multiply for those of this rank. The product will be
// written to `result`, which may become another tensor of its shape. Where the factors are undefined, nothing is
// multiplied, and `result` is what autograd gets: whoever was asked sees to the product.
using FactorExchange = std::function<LinearFactors(const LinearFactors& own, at::Tensor& result)>;

// Writes rows of the product to each of `results`, which have its shape and are dense.
void multiply(const LinearFactors& factors, const std::vector<at::Tensor>& results, std::int64_t first_row,
              std::int64_t end_row);

// In its forward pass: the exchange for a layer with this weight and so many samples; an empty one for none. The answer
// is the same when it is asked twice.
using FindFactorExchange = std::function<FactorExchange(const at::Tensor& weight, std::int64_t samples)>;

// While it lives, large layers that the calling thread computes by kernels::linear ask `find`.
class [[nodiscard]] SharedFactors {
 public:
  explicit SharedFactors(FindFactorExchange find);
  SharedFactors(const SharedFactors&) = delete;
  SharedFactors& operator=(const SharedFactors&) = delete;
  ~SharedFactors();

  // By the innermost of this thread; an empty one where there is none.
  static FactorExchange find(const at::Tensor& weight, std::int64_t samples);

 private:
  FindFactorExchange before_;
};

}  // namespace lockstep::kernels

#include <lockstep/kernels/linear_factors.h>

#include <utility>

namespace lockstep::kernels {
namespace {

thread_local FindFactorExchange innermost;

}  // namespace

SharedFactors::SharedFactors(FindFactorExchange find) : before_(std::exchange(innermost, std::move(find))) {}

SharedFactors::~SharedFactors() {
  innermost = std::move(before_);
}

FactorExchange SharedFactors::find(const at::Tensor& weight, std::int64_t samples) {
  return innermost ? innermost(weight, samples) : FactorExchange();
}

}  // namespace lockstep::kernels

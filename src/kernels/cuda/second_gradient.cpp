#include "second_gradient.h"

#include <lockstep/base/errors.h>

#include "joined_gradient.h"
#include "passed_gradient.h"

namespace lockstep::kernels {
namespace {

constexpr const char *kOfSecond = "behind the second result", *kOfFirst = "behind the first result";

// Null: it is not there.
template <typename Holder>
c10::intrusive_ptr<Holder> holder_in(torch::autograd::AutogradContext* context, const char* name) {
  const auto found = context->saved_data.find(name);
  if (found == context->saved_data.end()) return {};
  return c10::static_intrusive_pointer_cast<Holder>(found->second.toCapsule());
}

}  // namespace

c10::intrusive_ptr<SecondGradient> second_gradient_of(const at::Tensor& tensor) {
  if (auto joined = joined_gradient_of(tensor, 1)) {
    if (joined->positive.defined()) return joined;
    return {};
  }
  return passed_gradient_of(tensor, 1);
}

void refuse_third_reader() {
  throw RuntimeError({.message = "the backward pass met a result of a residual block with more than two readers",
                      .expected = "one reader of each of its two results",
                      .next = "compute with --engine reference"});
}

void remember_shortcut(torch::autograd::AutogradContext* context, const at::Tensor& shortcut) {
  if (auto second = second_gradient_of(shortcut)) {
    context->saved_data[kOfSecond] = c10::IValue::make_capsule(std::move(second));
  } else if (auto first = joined_gradient_of(shortcut, 0)) {
    context->saved_data[kOfFirst] = c10::IValue::make_capsule(std::move(first));
  }
}

void tell_shortcut(torch::autograd::AutogradContext* context, const at::Tensor& gradient, const at::Tensor& sums) {
  if (const auto second = holder_in<SecondGradient>(context, kOfSecond)) second->second = gradient;
  if (const auto first = holder_in<JoinedGradient>(context, kOfFirst)) {
    first->known = gradient;  // a shortcut that is normalized itself
    first->known_sums = sums;
  }
}

}  // namespace lockstep::kernels

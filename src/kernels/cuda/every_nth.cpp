#include "every_nth.h"

#include <limits>
#include <utility>

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include <lockstep/kernels/every_nth.h>

#include "../cpu/single_derivative.h"
#include "second_gradient.h"
#include "tensors.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class EveryNth : public torch::autograd::Function<EveryNth> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& pictures, std::int64_t stride) {
    context->saved_data["second"] = c10::IValue::make_capsule(second_gradient_of(pictures));
    context->saved_data["stride"] = stride;
    return cuda::few_of(pictures, stride);
  }

  // Told to the node that made the pictures, which knows their size, and not returned.
  static variable_list backward(AutogradContext* context, variable_list& gradients) {
    require_single_derivative("convolution");
    const auto capsule = context->saved_data["second"].toCapsule();
    auto& known = static_cast<SecondGradient&>(*capsule);
    if (known.second.defined()) refuse_third_reader();
    const at::Tensor gradient = std::exchange(gradients[0], {}).contiguous(at::MemoryFormat::ChannelsLast);
    known.second = cuda::is_aligned(gradient) ? gradient : gradient.clone();
    known.second_stride = context->saved_data["stride"].toInt();
    return {at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool can_every_nth(const at::Tensor& pictures) {
  if (!pictures.is_cuda() || pictures.numel() > std::numeric_limits<int>::max()) return false;
  return second_gradient_of(pictures) != nullptr;
}

at::Tensor every_nth(const at::Tensor& pictures, std::int64_t stride) {
  const c10::DeviceGuard guard(pictures.device());
  return EveryNth::apply(pictures, stride);
}

namespace cuda {
namespace {

void copy(const at::Tensor& whole, const at::Tensor& few, std::int64_t stride, bool gathers) {
  const Rows rows = rows_of(gathers ? few : whole);
  const at::Tensor &from = gathers ? whole : few, &to = gathers ? few : whole;
  kernels_on(whole.device())
      ->copy_few({.places = places_of(whole.sizes(), stride),
                  .vectors = static_cast<int>(rows.channels) / vector_width(rows.type),
                  .written = rows.rows,
                  .gathers = gathers,
                  .from = from.const_data_ptr(),
                  .to = to.mutable_data_ptr()});
}

at::Tensor empty_pictures(at::IntArrayRef sizes, const at::Tensor& like) {
  return at::empty(sizes, like.options(), at::MemoryFormat::ChannelsLast);
}

}  // namespace

FewPlaces places_of(at::IntArrayRef sizes, std::int64_t stride) {
  return {static_cast<int>(sizes[2]), static_cast<int>(sizes[3]), static_cast<int>(stride)};
}

at::Tensor few_of(const at::Tensor& pictures, std::int64_t stride) {
  const FewPlaces places = places_of(pictures.sizes(), stride);
  at::Tensor result = empty_pictures(
      {pictures.size(0), pictures.size(1), places.few_height.divisor, places.few_width.divisor}, pictures);
  copy(pictures, result, stride, /*gathers=*/true);
  return result;
}

at::Tensor among_zeros(const at::Tensor& few, at::IntArrayRef sizes, std::int64_t stride) {
  at::Tensor result = empty_pictures(sizes, few);
  copy(result, few, stride, /*gathers=*/false);
  return result;
}

}  // namespace cuda
}  // namespace lockstep::kernels

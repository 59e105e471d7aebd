#include "adopt.h"

#include <c10/core/Storage.h>

namespace lockstep::parallel {
namespace {

// Whether nobody but the autograd engine sees the memory of the stored gradient and the incoming one, its alias. That
// may be a view of a tensor that nobody else holds, as the gradient of a linear layer's weight is, the transpose of a
// product.
bool is_private(const at::Tensor& gradient, const at::Tensor& incoming) {
  if (gradient.use_count() != 1 || !gradient.is_alias_of(incoming)) return false;
  if (!incoming.is_view()) return gradient.storage().use_count() <= 2;
  return gradient.storage().use_count() <= 3 && incoming._base().use_count() == 1;
}

}  // namespace

bool adopt_gradient(const at::Tensor& parameter, const at::Tensor& incoming, const at::Tensor& bucket) {
  at::Tensor& gradient = parameter.mutable_grad();
  const bool fits = gradient.layout() == at::kStrided && gradient.device().is_cpu() && !gradient.requires_grad() &&
                    gradient.scalar_type() == bucket.scalar_type() && gradient.strides() == parameter.strides() &&
                    gradient.is_non_overlapping_and_dense() && gradient.storage_offset() == 0 &&
                    gradient.storage().nbytes() == bucket.storage().nbytes();
  if (!fits || !is_private(gradient, incoming)) return false;
  const c10::Storage& own = gradient.storage();
  c10::DataPtr memory = own.set_data_ptr({});
  own.set_data_ptr(bucket.storage().set_data_ptr(std::move(memory)));
  return true;
}

}  // namespace lockstep::parallel

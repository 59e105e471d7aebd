#include <lockstep/kernels/casts.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ATen/autocast_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/DeviceGuard.h>
#include <torch/csrc/autograd/custom_function.h>

#include <lockstep/base/errors.h>
#include <lockstep/kernels/engine.h>

#include "cuda/tensors.h"

namespace lockstep::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A gradient waits for the others of its group.
constexpr std::int64_t kGroupValues = 4 << 20;

bool is_one_piece(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() && cuda::is_aligned(tensor);
}

// Into tensors of the same sizes and layouts, all of one type and device.
void copy_together(const variable_list& to, const variable_list& from) {
  const cuda::Kernels* kernels = cuda::kernels_on(to.front().device());
  if (kernels == nullptr || !std::all_of(from.begin(), from.end(), is_one_piece)) {
    at::_foreach_copy_(to, from);
    return;
  }
  const c10::DeviceGuard guard(to.front().device());
  std::vector<cuda::CastPart> parts;
  for (std::size_t i = 0; i < to.size(); ++i) {
    parts.push_back({.from = from[i].const_data_ptr(), .to = to[i].mutable_data_ptr(), .values = to[i].numel()});
    if (parts.size() < cuda::kMostCastParts && i + 1 < to.size()) continue;
    kernels->cast(cuda::number_of(to.front()), cuda::number_of(from.front()), parts.data(),
                  static_cast<int>(parts.size()));
    parts.clear();
  }
}

variable_list copies_of(at::TensorList tensors, at::ScalarType type) {
  variable_list copies, originals;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    copies.push_back(at::empty_like(tensor, tensor.options().dtype(type)));
    originals.push_back(tensor);
  }
  if (!copies.empty()) copy_together(copies, originals);
  return copies;
}

class Cast : public torch::autograd::Function<Cast> {
 public:
  static variable_list forward(AutogradContext* context, at::TensorList parameters, at::ScalarType type) {
    context->set_materialize_grads(false);
    return copies_of(parameters, type);
  }

  static variable_list backward(AutogradContext*, const variable_list& gradients) {
    const variable_list copies = copies_of(gradients, at::kFloat);
    variable_list results(gradients.size() + 1);  // nothing for the type
    auto copy = copies.begin();
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].defined()) results[i] = *copy++;
    }
    return results;
  }
};

}  // namespace

class CastTogether::Implementation {
 public:
  at::Tensor cast_of(const at::Tensor& parameter) {
    const auto found = copies_.find(parameter.unsafeGetTensorImpl());
    if (found != copies_.end()) return found->second;
    if (known_.insert(parameter.unsafeGetTensorImpl()).second) asked_.push_back(parameter);
    // Alone, so that the kernels which take it are those of later passes, and results the same.
    cast({parameter});
    return copies_.at(parameter.unsafeGetTensorImpl());
  }

  void begin(at::ScalarType type) {
    type_ = type;
    variable_list group;
    std::int64_t values = 0;
    for (const at::Tensor& parameter : asked_) {
      group.push_back(parameter);
      values += parameter.numel();
      if (values < kGroupValues && &parameter != &asked_.back()) continue;
      cast(group);
      group.clear();
      values = 0;
    }
  }

  void end() { copies_.clear(); }

 private:
  void cast(const variable_list& group) {
    const variable_list copies = Cast::apply(at::TensorList(group), type_);
    for (std::size_t i = 0; i < group.size(); ++i) copies_.emplace(group[i].unsafeGetTensorImpl(), copies[i]);
  }

  at::ScalarType type_ = at::kFloat;
  std::vector<at::Tensor> asked_;  // in the order of their use
  std::unordered_set<const c10::TensorImpl*> known_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> copies_;
};

namespace {

thread_local CastTogether* present = nullptr;

}  // namespace

CastTogether::CastTogether() : implementation_(std::make_unique<Implementation>()) {}
CastTogether::~CastTogether() = default;

CastTogether::Pass::Pass(CastTogether& casts) {
  if (present != nullptr) throw UsageError("a forward pass begins within another one");
  if (engine() != Engine::kFused || !at::autocast::is_autocast_enabled(at::kCUDA)) return;
  casts.implementation_->begin(at::autocast::get_autocast_dtype(at::kCUDA));
  present = &casts;
}

CastTogether::Pass::~Pass() {
  if (present != nullptr) present->implementation_->end();
  present = nullptr;
}

at::Tensor cast_of(const at::Tensor& parameter) {
  if (present == nullptr || !parameter.is_cuda() || parameter.scalar_type() != at::kFloat) return parameter;
  return present->implementation_->cast_of(parameter);
}

}  // namespace lockstep::kernels

// Parameters, gradients and state as ATen's fused kernels need them.
#pragma once
#include <initializer_list>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace lockstep::optim {

// `state` of a parameter, in the memory layout that empty_like gives it, on its device and of its type; itself where it
// is so already. State that a file had may lie otherwise.
at::Tensor fitting_state(const at::Tensor& parameter, const at::Tensor& state);

// What one call of a fused kernel updates. The kernels walk through memory and compare no layouts, so entries with the
// same index must lie alike, without gaps. What does not is copied, and copied back where the kernel changed it.
class KernelBatch {
 public:
  // `state` must fit the parameter. `type` is that of the arithmetic.
  void add(const at::Tensor& parameter, std::initializer_list<at::Tensor> state, at::ScalarType type);

  // When the kernel was called. Counts the change of each parameter, which kernels do not: autograd and DataParallel
  // must know of it.
  void finish() const;

  at::Device device() const { return parameters.front().device(); }

  std::vector<at::Tensor> parameters, gradients;
  std::vector<std::vector<at::Tensor>> state;  // one list for each tensor of a parameter's state
  std::vector<at::Tensor> counters;            // of steps, where the optimizer has them

 private:
  at::Tensor operand(const at::Tensor& tensor, const at::Tensor& like, at::ScalarType type);

  std::vector<std::pair<at::Tensor, at::Tensor>> copies_;  // to be written back: original and copy
  std::vector<at::Tensor> changed_;                        // parameters that the kernel changes where they are
};

// What goes into one call: device, type, and a distinction of the optimizer's own. The order of calls is that of keys.
class KernelBatches {
 public:
  KernelBatch& of(const at::Tensor& parameter, at::ScalarType type, bool distinction = false) {
    return batches_[{parameter.device().type(), parameter.device().index(), type, distinction}];
  }

  // Calls `kernel` with each batch and the distinction.
  template <typename Kernel>
  void run(const Kernel& kernel) {
    for (auto& [kind, batch] : batches_) {
      kernel(batch, std::get<bool>(kind));
      batch.finish();
    }
  }

 private:
  std::map<std::tuple<at::DeviceType, at::DeviceIndex, at::ScalarType, bool>, KernelBatch> batches_;
};

}  // namespace lockstep::optim

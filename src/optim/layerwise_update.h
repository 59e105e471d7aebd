#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <lockstep/optim/step_controls.h>

namespace lockstep::optim {

// The updates of several parameters of one type and device, computed in float32 or float64. They lie in one matrix
// whose rows belong to one parameter each, so that an operation on all of them, and a factor for each, is one launch.
class LayerwiseUpdate {
 public:
  // The rows that each parameter needs.
  static std::vector<std::int64_t> rows_of(const std::vector<at::Tensor>& parameters);
  // `row_owners` has the index of a parameter for each row, on their device.
  LayerwiseUpdate(std::vector<at::Tensor> owners, at::Tensor row_owners, const StepControls& controls,
                  std::size_t group);

  // As their optimizer knows them, and detached.
  const std::vector<at::Tensor>& owners() const { return owners_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  // Of each parameter, in its shape. They hold its gradient at first: divided by the scale, and 0 in a skipped step.
  const std::vector<at::Tensor>& updates() const { return updates_; }
  at::Tensor& all() { return all_; }

  // Multiplies each update by its factor, from a vector.
  void scale_each(const at::Tensor& factors);

  // The norm of each tensor, as a vector.
  at::Tensor norms(const std::vector<at::Tensor>& tensors) const;

  // The learning rate, of no dimension; `host_rate` unless the device has it.
  at::Tensor rate(double host_rate) const;

  // `factor`, of no dimension, or 1 in a skipped step: what averages are multiplied by.
  at::Tensor decay(double factor) const;

  // In a skipped step makes all updates 0, whatever they are.
  void drop_if_skipped();
  // A bool, if steps may be skipped.
  const std::optional<at::Tensor>& skipped() const { return skipped_; }

  // Subtracts `values` from the parameters, unless the step is skipped; the updates may be overwritten.
  void subtract(const std::vector<at::Tensor>& values);

 private:
  std::vector<at::Tensor> owners_, parameters_, updates_;
  at::Tensor row_owners_, all_, rate_;
  std::optional<at::Tensor> skipped_;
};

}  // namespace lockstep::optim

// Batch normalization that can be told to normalize in another way.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <ostream>

#include <torch/nn/modules/batchnorm.h>

#include <lockstep/kernels/batch_norm.h>

namespace lockstep::nn {

using kernels::BatchNormState;

// Normalizes a batch by its own statistics.
using BatchNormalizer = std::function<at::Tensor(const at::Tensor& input, const BatchNormState& state)>;

// As torch::nn::BatchNorm1d, 2d and 3d, with their options, parameters and buffers, for inputs of 2 to 5 dimensions.
// Throws UsageError for other inputs, and for a training batch of one value per channel.
//
// Members of a C++ module cannot be replaced from outside. So what normalizes is a value that can be set, and a model
// that declares its layers as this type can be converted to SyncBatchNorm.
class BatchNormImpl : public torch::nn::Cloneable<BatchNormImpl> {
 public:
  explicit BatchNormImpl(const torch::nn::BatchNormOptions& chosen_options);
  // With the parameters and buffers of a module of torch's, which both then share.
  template <std::size_t D, typename Norm>
  explicit BatchNormImpl(const torch::nn::BatchNormImplBase<D, Norm>& norm);

  at::Tensor forward(const at::Tensor& input);
  // With what follows, in one step where the engine has one.
  struct Then {
    at::Tensor input_bias = {};  // of each channel, added to the input first, if defined; only while takes_bias()
    at::Tensor shortcut = {};    // added, if defined
    bool relu = false;
  };
  at::Tensor forward_then(const at::Tensor& input, const Then& then);
  // Whether a bias before it is better given to it: the batch's own statistics take it out again.
  bool takes_bias() const { return is_training() && !normalizer_; }
  // The same for two readers, neither of which changes it in place.
  kernels::ForTwo forward_for_two(const at::Tensor& input, const Then& then);

  // The same after a convolution by these weights, whose window is one place, with stride 1; nothing where the engine
  // does not do both at once.
  std::optional<kernels::ForTwo> forward_pointwise(const at::Tensor& input, const at::Tensor& convolution,
                                                   const Then& then);

  // Used in place of normalize_batch while the module trains; an empty one brings that back. Copied by clone().
  void set_normalizer(BatchNormalizer normalizer) { normalizer_ = std::move(normalizer); }
  const BatchNormalizer& normalizer() const { return normalizer_; }

  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  torch::nn::BatchNormOptions options;
  at::Tensor weight, bias;
  at::Tensor running_mean, running_var, num_batches_tracked;

 private:
  void register_tensors();
  BatchNormState state() const;
  bool is_counted_by_kernels() const;
  kernels::ForTwo forward_for(bool two, const at::Tensor& input, const Then& then);

  BatchNormalizer normalizer_;
};
TORCH_MODULE(BatchNorm);

// By the batch's own statistics, after a check that there is more than one value per channel.
at::Tensor normalize_batch(const at::Tensor& input, const BatchNormState& state);

// Throws UsageError if `values`, the number in each channel, is too small to have a variance.
void require_several_values(std::int64_t values, const at::Tensor& input);

template <std::size_t D, typename Norm>
BatchNormImpl::BatchNormImpl(const torch::nn::BatchNormImplBase<D, Norm>& norm)
    : options(norm.options),
      weight(norm.weight),
      bias(norm.bias),
      running_mean(norm.running_mean),
      running_var(norm.running_var),
      num_batches_tracked(norm.num_batches_tracked) {
  register_tensors();
  train(norm.is_training());
}

}  // namespace lockstep::nn

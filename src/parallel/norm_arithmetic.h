// The arithmetic of normalization over several ranks, once for CPU tensors and once for CUDA tensors.
#pragma once
#include <lockstep/comm/group.h>
#include <lockstep/nn/batch_norm.h>

namespace lockstep::parallel {

// Of the batches of all ranks together.
struct BatchStatistics {
  at::Tensor mean;
  at::Tensor spread;  // the variance, or one over its root: whichever the arithmetic works with
  at::Tensor counts;  // values per channel, of each rank or in all
};

// What backward knows of forward.
struct NormalizedBatch {
  at::Tensor input, weight;
  BatchStatistics statistics;
  double eps = 0;
};

// The sums over one rank's batch that gradients are made of.
struct GradientSums {
  at::Tensor for_input;  // two for each channel, to be added up over ranks
  at::Tensor weight, bias;
};

class NormArithmetic {
 public:
  // For tensors of that kind of device.
  static const NormArithmetic& of(at::DeviceType device);
  virtual ~NormArithmetic() = default;

  // Of this rank's batch: what each rank gives to be gathered, of the same size on all.
  virtual at::Tensor local_statistics(const at::Tensor& input, double eps) const = 0;
  // From those of all ranks, one in each row. Updates the running statistics.
  virtual BatchStatistics combine(const at::Tensor& gathered, const at::Tensor& input,
                                  const nn::BatchNormState& state) const = 0;
  virtual at::Tensor normalize(const at::Tensor& input, const nn::BatchNormState& state,
                               const BatchStatistics& statistics) const = 0;
  virtual GradientSums gradient_sums(const at::Tensor& gradient, const NormalizedBatch& batch) const = 0;
  virtual at::Tensor input_gradient(const at::Tensor& gradient, const NormalizedBatch& batch,
                                    const at::Tensor& sums) const = 0;
};

// Values in each channel.
inline std::int64_t values_per_channel(const at::Tensor& input) {
  return input.numel() / input.size(1);
}

const NormArithmetic& cpu_norm_arithmetic();
const NormArithmetic& cuda_norm_arithmetic();

}  // namespace lockstep::parallel

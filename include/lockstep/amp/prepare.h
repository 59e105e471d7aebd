// A model in the types of its precision, and what goes in and out of it.
#pragma once
#include <cstdint>

#include <torch/nn/module.h>

#include <lockstep/amp/precision.h>

namespace lockstep::amp {

// Casts the parameters and buffers of floating-point types to precision.model, in place: whoever holds a parameter goes
// on holding it. With keep_batchnorm_fp32 those of batch normalizations stay: torch's, nn::BatchNorm (SyncBatchNorm is
// one), and any module that has running statistics of its own. Other normalizations are cast; libtorch's kernels
// compute them in fp32 all the same. Nothing happens where precision.model is empty.
//
// Call it before DistributedDataParallel, and before an optimizer has state. Throws UsageError for what require_type
// refuses on the module's devices.
void prepare(torch::nn::Module& module, const Precision& precision);

// An input of the model: of the model's type, if it is of floating point and the model was cast.
at::Tensor cast_input(const at::Tensor& input, const Precision& precision);

// An output of the model: in fp32, if it is of 16 bits, so that the loss is computed in fp32.
at::Tensor cast_output(const at::Tensor& output);

// Logs, once in a process, that a batch size that is no multiple of 8 leaves tensor cores and matrix units partly idle.
// `batch_size` is that of a rank.
void hint_batch_size(std::int64_t batch_size, const Precision& precision);

}  // namespace lockstep::amp

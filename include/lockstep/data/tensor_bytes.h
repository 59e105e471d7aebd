// Between tensors in memory and those of files.
#pragma once
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include <lockstep/data/tensor_file.h>

namespace lockstep::data {

// A tensor over bytes of a file, which `owner` keeps where they are. It shares the file's memory, which cannot be
// written to, unless the bytes are not aligned for their type.
at::Tensor to_tensor(const TensorBytes& bytes, std::shared_ptr<const void> owner);

// The reverse: the tensor's own bytes, as long as it lives. Throws UsageError for tensors that are not on the CPU, not
// contiguous, or of a type that files do not have.
TensorBytes to_bytes(const std::string& name, const at::Tensor& tensor);

}  // namespace lockstep::data

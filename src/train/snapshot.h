#pragma once
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/checkpoint/manifest.h>
#include <lockstep/data/tensor_file.h>

namespace lockstep::train {

struct Snapshot {
  using Tensors = std::map<std::string, at::Tensor>;
  checkpoint::Manifest manifest;
  Tensors model, training;  // of rank 0, who writes them; others leave them empty
  Tensors own;              // this rank's share, where the state is divided
};

// Copies in the CPU's memory, contiguous, that nobody else has. From GPUs by way of pinned memory, all of them at once.
Snapshot::Tensors copy_to_cpu(const Snapshot::Tensors& tensors);

std::vector<data::TensorBytes> bytes_of(const Snapshot::Tensors& tensors);

}  // namespace lockstep::train

// MNIST's handwritten digits.
#pragma once
#include <filesystem>

#include <ATen/core/Tensor.h>

#include <lockstep/data/split.h>

namespace lockstep::data {

struct Mnist {
  at::Tensor images;  // uint8, N x 1 x 28 x 28
  at::Tensor labels;  // int64, N

  std::int64_t size() const { return images.size(0); }

  // `count` images at the given places, as the float that networks take: (pixel / 255 - mean) / deviation.
  at::Tensor normalized(const at::Tensor& indices) const;
};

// Reads the pair of idx files of a split, under their usual names, with or without .gz. Throws UsageError for files
// that are missing or wrong, and for labels that do not fit the images.
Mnist read_mnist(const std::filesystem::path& folder, Split split);

// The copy that comes with Lockstep. LOCKSTEP_DATA_DIR names another place for such copies.
std::filesystem::path default_mnist_folder();

}  // namespace lockstep::data

// Samples by number: the interface that everything which yields tensors has, and decorators that turn one such set into
// another.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>

#include <ATen/core/Tensor.h>

#include <lockstep/data/picture.h>

namespace lockstep::data {

struct Sample {
  at::Tensor data;
  at::Tensor target;
};

// Every function may be called from many threads at once. A sample depends on its number alone: what is random about it
// (augmentation) happens in a Loader, which knows of epochs.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::int64_t size() const = 0;

  // For 0 <= index < size(). Its tensors may lie in memory that others use too, or that cannot be written to: change a
  // copy. Throws SampleError when this one sample cannot be used.
  virtual Sample get(std::int64_t index) const = 0;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

// The rows of tensors that lie in memory. Throws UsageError when there are not as many targets as rows.
DatasetPtr tensor_dataset(at::Tensor data, at::Tensor targets);

// Pictures as uint8 tensors of channels x height x width, decoded whole: 3 channels, or 1 that is gray.
DatasetPtr decoded(std::shared_ptr<const PictureSet> pictures, int channels = 3);

// `count` samples from `first` on.
DatasetPtr subset(DatasetPtr dataset, std::int64_t first, std::int64_t count);

// In an order that is a function of the seed.
DatasetPtr shuffled(DatasetPtr dataset, std::uint64_t seed);

// What `function` makes of each sample. It is called from many threads at once.
DatasetPtr mapped(DatasetPtr dataset, std::function<Sample(Sample)> function);

// Samples are kept when they have been asked for once, until they take `limit_bytes` together; the others are asked for
// again each time.
DatasetPtr cached(DatasetPtr dataset, std::int64_t limit_bytes);

// `count` samples on top of each other as one. At the end perhaps fewer, or none with `drop_last`.
DatasetPtr batched(DatasetPtr dataset, std::int64_t count, bool drop_last = false);

}  // namespace lockstep::data

#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>

#include <lockstep/data/dataset.h>
#include <lockstep/data/mix.h>
#include <lockstep/data/pipeline.h>
#include <lockstep/data/random_stream.h>

namespace lockstep::data {

struct BatchTensors {
  at::Tensor data, target;
};

// Puts samples into batches. Every thread may use one at once, each with a Scratch of its own and for slots of its own.
class Filler {
 public:
  virtual ~Filler() = default;

  virtual std::int64_t size() const = 0;

  // Memory for `count` samples, not set yet.
  virtual BatchTensors allocate(std::int64_t count, bool pinned) const = 0;

  // Writes one sample into its slot. Throws SampleError for one that is bad.
  virtual void fill(std::int64_t sample, RandomStream random, Pipeline::Scratch& scratch, const BatchTensors& batch,
                    std::int64_t slot) const = 0;

  // What is done to a batch when all its slots are filled. `random` is the batch's own.
  virtual void finish(BatchTensors& /*batch*/, RandomStream /*random*/) const {}

  // For messages.
  virtual std::string name(std::int64_t sample) const = 0;
};

// The shape of a batch is that of the first sample which can be read; `tries` says how many may be bad before it.
std::unique_ptr<Filler> make_filler(std::shared_ptr<const PictureSet> pictures, Pipeline pipeline, at::ScalarType type,
                                    Mixing mixing, std::int64_t tries);
std::unique_ptr<Filler> make_filler(DatasetPtr dataset, std::int64_t tries);

}  // namespace lockstep::data

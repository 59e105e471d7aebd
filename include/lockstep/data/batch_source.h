// Batches of one rank, epoch by epoch: what training asks for, however they are made.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/data/sampler.h>

namespace lockstep::data {

struct Batch {
  at::Tensor data;                    // pictures: N x channels x height x width, channels-last
  at::Tensor target;                  // N, or what the data set has as targets
  std::vector<std::int64_t> samples;  // which they are
};

// For one thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;

  // Begins an epoch at its first batch. A new source stands at the beginning of its sampler's.
  virtual void set_epoch(std::int64_t epoch) = 0;

  // The next batch, or nothing at the end of the epoch. All ranks get the same number of batches; with Tail::kUneven
  // the last one may be empty on some.
  virtual std::optional<Batch> next() = 0;

  // Batches in a whole epoch.
  virtual std::int64_t batches() const = 0;

  // Where the run stands after the last batch that next() gave, whatever has been made ahead.
  virtual SamplerState state() const = 0;

  // Goes on from there, at another number of ranks too.
  virtual void restore(const SamplerState& state) = 0;
};

}  // namespace lockstep::data

// Batches, made ahead of the training that uses them.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <lockstep/data/dataset.h>
#include <lockstep/data/pipeline.h>
#include <lockstep/data/sampler.h>

namespace lockstep::data {

struct Batch {
  at::Tensor data;                    // pictures: N x channels x height x width, channels-last
  at::Tensor target;                  // N, or what the data set has as targets
  std::vector<std::int64_t> samples;  // which they are
};

enum class OnError {
  kStop,  // the error, which names the sample, comes out of Loader::next
  kSkip,  // the next sample of the set takes the bad one's place, so every batch of every rank keeps its size
};

struct LoaderOptions {
  std::int64_t batch_size = 32;  // of this rank
  int workers = 2;               // threads
  int prefetch = 2;              // batches that are made before they are asked for
  OnError on_error = OnError::kStop;
  std::int64_t max_bad = 100;        // with kSkip: more bad samples than these on one rank are an error all the same
  at::ScalarType type = at::kFloat;  // of pictures: kByte for a pipeline that does not normalize
  // Where batches are used. For a GPU they are made in pinned memory and copied while the GPU computes.
  at::Device device = at::kCPU;
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // for one batch
};

struct LoaderStats {
  std::int64_t batches = 0;
  std::int64_t bad = 0;                     // samples that were skipped, each counted once
  std::chrono::duration<double> waiting{};  // time in next()
};

// Worker threads fill the batches, sample by sample, in the order of the sampler. A batch depends on (seed, epoch,
// samples) alone: neither the number of workers nor that of ranks, nor what was loaded before, changes a bit of it. The
// memory is that of the prefetched batches and one more; a worker adds no more than the pictures it decodes.
//
// For one thread at a time. A batch whose tensors nobody holds any more gives its memory to a later one.
class Loader {
 public:
  // Throws UsageError for options that make no sense, and for a set whose samples have no shape in common, as far as
  // its first sample tells.
  Loader(std::shared_ptr<const PictureSet> pictures, Pipeline pipeline, DistributedSampler sampler,
         LoaderOptions options = {});
  Loader(DatasetPtr dataset, DistributedSampler sampler, LoaderOptions options = {});
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  // Begins an epoch at its first batch. A new loader stands at the beginning of its sampler's.
  void set_epoch(std::int64_t epoch);

  // The next batch, or nothing at the end of the epoch. All ranks get the same number of batches; with Tail::kUneven
  // the last one may be empty on some. Throws SampleError for a bad sample, TimeoutError when a batch is not made in
  // time (it names the samples that workers are busy with), and what a data set throws.
  std::optional<Batch> next();

  // Batches in a whole epoch.
  std::int64_t batches() const;

  // Where the run stands after the last batch that next() gave, whatever has been made ahead.
  SamplerState state() const;

  // Goes on from there.
  void restore(const SamplerState& state);

  LoaderStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::data

// Batches, made by threads ahead of the training that uses them.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include <lockstep/data/batch_source.h>
#include <lockstep/data/dataset.h>
#include <lockstep/data/mix.h>
#include <lockstep/data/pipeline.h>
#include <lockstep/data/sampler.h>

namespace lockstep::data {

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
  Mixing mixing;  // of pictures: targets are then N x classes floats, in batches that are not mixed too
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // for one batch
};

struct LoaderStats {
  std::int64_t batches = 0;
  std::int64_t bad = 0;                     // samples that were skipped, each counted once
  std::chrono::duration<double> waiting{};  // time in next()
};

// Worker threads fill the batches, sample by sample, in the order of the sampler. A batch depends on (seed, epoch,
// samples) alone: neither the number of workers nor that of ranks, nor what was loaded before, changes a bit of it. The
// memory is that of the prefetched batches and two more; a worker adds no more than the pictures it decodes.
//
// For one thread at a time. Whoever destroys it waits for the samples that workers are busy with, also after a
// TimeoutError: a program that ends because storage does not answer leaves by _exit. A batch whose tensors nobody holds
// any more gives its memory to a later one.
class Loader final : public BatchSource {
 public:
  // Throws UsageError for options that make no sense, and for a set whose samples have no shape in common, as far as
  // its first sample tells.
  Loader(std::shared_ptr<const PictureSet> pictures, Pipeline pipeline, DistributedSampler sampler,
         LoaderOptions options = {});
  Loader(DatasetPtr dataset, DistributedSampler sampler, LoaderOptions options = {});
  ~Loader() override;
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  void set_epoch(std::int64_t epoch) override;
  // Throws SampleError for a bad sample, TimeoutError when a batch is not made in time (it names the samples that
  // workers are busy with), and what a data set throws.
  std::optional<Batch> next() override;
  std::int64_t batches() const override;
  SamplerState state() const override;
  void restore(const SamplerState& state) override;

  LoaderStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::data

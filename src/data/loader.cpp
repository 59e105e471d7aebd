#include <lockstep/data/loader.h>

#include <limits>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "bad_samples.h"
#include "batch_maker.h"
#include "batch_memory.h"
#include "device_copy.h"
#include "filler.h"

namespace lockstep::data {
namespace {

const LoaderOptions& checked(const LoaderOptions& options) {
  const auto require = [](std::int64_t value, std::int64_t least, std::int64_t most, const char* name) {
    if (value >= least && value <= most) return;
    throw UsageError({.message = fmt::format("a loader cannot have so many {}", name),
                      .found = std::to_string(value),
                      .expected = fmt::format("{} to {}", least, most)});
  };
  require(options.batch_size, 1, 1 << 24, "samples in a batch");
  require(options.workers, 1, 1024, "workers");
  require(options.prefetch, 1, 1024, "prefetched batches");
  require(options.max_bad, 0, std::numeric_limits<std::int64_t>::max(), "bad samples");
  if (options.timeout <= std::chrono::milliseconds(0) || options.timeout > std::chrono::hours(24 * 365)) {
    throw UsageError("a loader's timeout must be positive, and at most a year");
  }
  return options;
}

std::int64_t tries(const LoaderOptions& options) {
  return options.on_error == OnError::kSkip ? options.max_bad : 0;
}

}  // namespace

class Loader::Impl {
 public:
  Impl(std::unique_ptr<Filler> filler, DistributedSampler sampler, const LoaderOptions& options)
      : options_(checked(options)),
        filler_(std::move(filler)),
        sampler_(std::move(sampler)),
        state_(sampler_.state()),
        // Those in the making, the one given out, and one that the caller may not have let go yet.
        memory_(static_cast<std::size_t>(options.prefetch) + 2),
        bad_(options.on_error, options.max_bad) {
    sampler_.require_size(filler_->size());
    if (!options_.device.is_cpu()) device_.emplace(options_.device);
    maker_ = std::make_unique<BatchMaker>(*filler_, bad_, device_ ? &*device_ : nullptr, options_.workers);
  }

  void set_epoch(std::int64_t epoch) {
    maker_->clear();
    sampler_.set_epoch(epoch);
    state_ = sampler_.state();
    make_ahead();
  }

  void restore(const SamplerState& state) {
    maker_->clear();
    sampler_.restore(state);
    state_ = sampler_.state();
    make_ahead();
  }

  std::optional<Batch> next() {
    const auto asked = std::chrono::steady_clock::now();
    make_ahead();
    if (maker_->count() == 0) return std::nullopt;
    const std::shared_ptr<BatchJob> job = maker_->take(options_.timeout);
    BatchTensors tensors = std::move(job->tensors);
    // A batch without samples has passed by the workers, who else begin the copy.
    if (device_) tensors = device_->use(job->on_device ? std::move(*job->on_device) : device_->start(tensors));
    make_ahead();
    state_ = job->state;
    ++stats_.batches;
    stats_.waiting += std::chrono::steady_clock::now() - asked;
    return Batch{
        .data = std::move(tensors.data), .target = std::move(tensors.target), .samples = std::move(job->samples)};
  }

  std::int64_t batches() const { return sampler_.steps(options_.batch_size); }
  const SamplerState& state() const { return state_; }

  LoaderStats stats() const {
    LoaderStats stats = stats_;
    stats.bad = bad_.count();
    return stats;
  }

 private:
  void make_ahead() {
    while (maker_->count() < static_cast<std::size_t>(options_.prefetch) && !sampler_.at_end(options_.batch_size)) {
      const SamplerState before = sampler_.state();
      try {
        maker_->add(next_job());
      } catch (...) {
        sampler_.restore(before);
        throw;
      }
    }
  }

  std::shared_ptr<BatchJob> next_job() {
    auto job = std::make_shared<BatchJob>();
    job->samples = sampler_.next(options_.batch_size);
    job->state = sampler_.state();
    job->tensors = memory_.take(*filler_, static_cast<std::int64_t>(job->samples.size()), device_.has_value());
    return job;
  }

  const LoaderOptions options_;
  const std::unique_ptr<Filler> filler_;
  DistributedSampler sampler_;  // ahead of what was given out
  SamplerState state_;
  BatchMemory memory_;
  BadSamples bad_;
  std::optional<DeviceCopy> device_;
  LoaderStats stats_;
  std::unique_ptr<BatchMaker> maker_;  // its threads use the others, so it is the first to go
};

Loader::Loader(std::shared_ptr<const PictureSet> pictures, Pipeline pipeline, DistributedSampler sampler,
               LoaderOptions options)
    : impl_(std::make_unique<Impl>(
          make_filler(std::move(pictures), std::move(pipeline), options.type, options.mixing, tries(options)),
          std::move(sampler), options)) {}

Loader::Loader(DatasetPtr dataset, DistributedSampler sampler, LoaderOptions options)
    : impl_(std::make_unique<Impl>(make_filler(std::move(dataset), tries(options)), std::move(sampler), options)) {}

Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;

void Loader::set_epoch(std::int64_t epoch) {
  impl_->set_epoch(epoch);
}
std::optional<Batch> Loader::next() {
  return impl_->next();
}
std::int64_t Loader::batches() const {
  return impl_->batches();
}
SamplerState Loader::state() const {
  return impl_->state();
}
void Loader::restore(const SamplerState& state) {
  impl_->restore(state);
}
LoaderStats Loader::stats() const {
  return impl_->stats();
}

}  // namespace lockstep::data

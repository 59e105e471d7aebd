// Batches of random numbers, and the layout that batches have.
#include <algorithm>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/random_stream.h>

#include "sources_parts.h"

namespace lockstep::train {
namespace {

using data::Batch;
using data::SamplerState;

constexpr std::int64_t kRingBytes = std::int64_t{64} << 20;

// Samples that differ, the first dimension theirs.
at::Tensor make_ring(const RandomNumbers& numbers, at::Device device) {
  std::int64_t elements = 1;
  for (const std::int64_t side : numbers.shape) elements *= side;
  const std::int64_t fitting = kRingBytes / (elements * static_cast<std::int64_t>(sizeof(float)));
  std::vector<std::int64_t> shape = numbers.shape;
  shape.insert(shape.begin(), std::clamp<std::int64_t>(fitting, 1, numbers.count));
  // Made on the CPU, by a generator of its own: the same on every device, and nobody else's numbers change.
  const at::Tensor ring = at::randn(shape, at::make_generator<at::CPUGeneratorImpl>(numbers.seed)).to(device);
  // Laid out so that rows of memory are samples, whose batches are channels-last.
  return numbers.channels_last && shape.size() >= 4 ? ring.movedim(1, -1).contiguous() : ring;
}

class RandomSource final : public data::BatchSource {
 public:
  RandomSource(const RandomNumbers& numbers, data::DistributedSampler sampler, std::int64_t batch_size,
               at::Device device)
      : numbers_(numbers),
        sampler_(std::move(sampler)),
        batch_size_(batch_size),
        device_(device),
        ring_(make_ring(numbers, device)) {
    if (batch_size <= 0) throw UsageError("a batch needs at least one sample");
    sampler_.require_size(numbers.count);
  }

  void set_epoch(std::int64_t epoch) override { sampler_.set_epoch(epoch); }

  std::optional<Batch> next() override {
    if (sampler_.at_end(batch_size_)) return std::nullopt;
    std::vector<std::int64_t> samples = sampler_.next(batch_size_);
    const auto count = static_cast<std::int64_t>(samples.size());
    // Places in the ring and labels, in one copy that is not waited for.
    const at::Tensor staged = at::empty({2, count}, at::TensorOptions(at::kLong).pinned_memory(device_.is_cuda()));
    auto* const places = staged.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t sample = samples[static_cast<std::size_t>(i)];
      places[i] = sample % ring_.size(0);
      places[count + i] = label(sample);
    }
    const at::Tensor sent = staged.to(device_, /*non_blocking=*/true);
    at::Tensor rows = ring_.index_select(0, sent[0]);
    if (numbers_.channels_last && rows.dim() >= 4) rows = rows.movedim(-1, 1);
    return Batch{.data = std::move(rows), .target = sent[1], .samples = std::move(samples)};
  }

  std::int64_t batches() const override { return sampler_.steps(batch_size_); }
  SamplerState state() const override { return sampler_.state(); }
  void restore(const SamplerState& state) override { sampler_.restore(state); }

 private:
  std::int64_t label(std::int64_t sample) const {
    data::RandomStream random(numbers_.seed, 0, static_cast<std::uint64_t>(sample));
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(numbers_.classes)));
  }

  const RandomNumbers numbers_;
  data::DistributedSampler sampler_;
  const std::int64_t batch_size_;
  const at::Device device_;
  const at::Tensor ring_;
};

class ContiguousSource final : public data::BatchSource {
 public:
  explicit ContiguousSource(std::unique_ptr<data::BatchSource> source) : source_(std::move(source)) {}

  void set_epoch(std::int64_t epoch) override { source_->set_epoch(epoch); }
  std::optional<Batch> next() override {
    auto batch = source_->next();
    if (batch) batch->data = batch->data.contiguous();
    return batch;
  }
  std::int64_t batches() const override { return source_->batches(); }
  SamplerState state() const override { return source_->state(); }
  void restore(const SamplerState& state) override { source_->restore(state); }

 private:
  const std::unique_ptr<data::BatchSource> source_;
};

}  // namespace

std::unique_ptr<data::BatchSource> random_numbers(const RandomNumbers& numbers, data::DistributedSampler sampler,
                                                  std::int64_t batch_size, at::Device device) {
  return std::make_unique<RandomSource>(numbers, std::move(sampler), batch_size, device);
}

std::unique_ptr<data::BatchSource> contiguous(std::unique_ptr<data::BatchSource> source) {
  return std::make_unique<ContiguousSource>(std::move(source));
}

}  // namespace lockstep::train

#pragma once
#include <lockstep/data/batch_source.h>

namespace lockstep::train {

// Passes the batches of another source on, and keeps the first samples of the first one that has any.
class KeptSamples final : public data::BatchSource {
 public:
  // `source` outlives it.
  KeptSamples(data::BatchSource& source, std::int64_t count) : source_(source), count_(count) {}

  void set_epoch(std::int64_t epoch) override { source_.set_epoch(epoch); }
  std::optional<data::Batch> next() override;
  std::int64_t batches() const override { return source_.batches(); }
  data::SamplerState state() const override { return source_.state(); }
  void restore(const data::SamplerState& state) override { source_.restore(state); }

  // At most `count` of them; undefined before there was a batch, and where count is 0.
  const at::Tensor& first() const { return first_; }

 private:
  data::BatchSource& source_;
  std::int64_t count_;
  at::Tensor first_;
};

}  // namespace lockstep::train

#include <cstring>

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/first_good.h>

#include "filler.h"

namespace lockstep::data {
namespace {

class TensorFiller : public Filler {
 public:
  TensorFiller(DatasetPtr dataset, std::int64_t tries)
      : dataset_(std::move(dataset)), first_(first_of(*dataset_, tries)) {}

  std::int64_t size() const override { return dataset_->size(); }
  std::string name(std::int64_t sample) const override { return fmt::format("sample {}", sample); }

  BatchTensors allocate(std::int64_t count, bool pinned) const override {
    return {.data = rows_like(first_.data, count, pinned), .target = rows_like(first_.target, count, pinned)};
  }

  void fill(std::int64_t sample, RandomStream, Pipeline::Scratch&, const BatchTensors& batch,
            std::int64_t slot) const override {
    const Sample made = dataset_->get(sample);
    put(made.data, batch.data, slot, sample);
    put(made.target, batch.target, slot, sample);
  }

 private:
  static Sample first_of(const Dataset& dataset, std::int64_t tries) {
    if (dataset.size() == 0) throw UsageError("the data set has no samples");
    return first_good(dataset.size(), tries, [&](std::int64_t sample) { return dataset.get(sample); });
  }

  static at::Tensor rows_like(const at::Tensor& row, std::int64_t count, bool pinned) {
    std::vector<std::int64_t> sizes = row.sizes().vec();
    sizes.insert(sizes.begin(), count);
    return at::empty(sizes, at::TensorOptions(row.scalar_type()).pinned_memory(pinned));
  }

  void put(const at::Tensor& value, const at::Tensor& rows, std::int64_t slot, std::int64_t sample) const {
    if (value.sizes() != rows.sizes().slice(1) || value.scalar_type() != rows.scalar_type()) {
      throw UsageError(
          {.message = fmt::format("{} does not fit into a batch with the others", name(sample)),
           .found = fmt::format("{} of {}", c10::toString(value.scalar_type()), fmt::streamed(value.sizes())),
           .expected = fmt::format("{} of {}, as the first sample has", c10::toString(rows.scalar_type()),
                                   fmt::streamed(rows.sizes().slice(1)))});
    }
    // By hand: libtorch would copy a large sample with a team of threads for each worker.
    const at::Tensor bytes = value.to(at::kCPU).contiguous();
    std::memcpy(static_cast<std::byte*>(rows.mutable_data_ptr()) + static_cast<std::size_t>(slot) * bytes.nbytes(),
                bytes.const_data_ptr(), bytes.nbytes());
  }

  DatasetPtr dataset_;
  Sample first_;
};

}  // namespace

std::unique_ptr<Filler> make_filler(DatasetPtr dataset, std::int64_t tries) {
  return std::make_unique<TensorFiller>(std::move(dataset), tries);
}

}  // namespace lockstep::data

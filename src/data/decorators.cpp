#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include <ATen/ops/stack.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/dataset.h>
#include <lockstep/data/sampler.h>

namespace lockstep::data {
namespace {

// Other samples in place of these: the order is a list of their numbers.
class Reordered : public Dataset {
 public:
  Reordered(DatasetPtr dataset, std::vector<std::int64_t> order)
      : dataset_(std::move(dataset)), order_(std::move(order)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(order_.size()); }
  Sample get(std::int64_t index) const override { return dataset_->get(order_.at(static_cast<std::size_t>(index))); }

 private:
  DatasetPtr dataset_;
  std::vector<std::int64_t> order_;
};

class Subset : public Dataset {
 public:
  Subset(DatasetPtr dataset, std::int64_t first, std::int64_t count)
      : dataset_(std::move(dataset)), first_(first), count_(count) {}
  std::int64_t size() const override { return count_; }
  Sample get(std::int64_t index) const override { return dataset_->get(first_ + index); }

 private:
  DatasetPtr dataset_;
  std::int64_t first_, count_;
};

class Mapped : public Dataset {
 public:
  Mapped(DatasetPtr dataset, std::function<Sample(Sample)> function)
      : dataset_(std::move(dataset)), function_(std::move(function)) {}
  std::int64_t size() const override { return dataset_->size(); }
  Sample get(std::int64_t index) const override { return function_(dataset_->get(index)); }

 private:
  DatasetPtr dataset_;
  std::function<Sample(Sample)> function_;
};

class Cached : public Dataset {
 public:
  Cached(DatasetPtr dataset, std::int64_t limit_bytes)
      : dataset_(std::move(dataset)), left_(limit_bytes), kept_(static_cast<std::size_t>(dataset_->size())) {}
  std::int64_t size() const override { return dataset_->size(); }

  Sample get(std::int64_t index) const override {
    std::optional<Sample>& place = kept_.at(static_cast<std::size_t>(index));
    {
      const std::lock_guard lock(mutex_);
      if (place) return *place;
    }
    Sample sample = dataset_->get(index);
    const auto bytes = static_cast<std::int64_t>(sample.data.nbytes() + sample.target.nbytes());
    const std::lock_guard lock(mutex_);
    if (!place && bytes <= left_) {
      left_ -= bytes;
      place = sample;
    }
    return sample;
  }

 private:
  DatasetPtr dataset_;
  mutable std::mutex mutex_;
  mutable std::int64_t left_;
  mutable std::vector<std::optional<Sample>> kept_;
};

class Batched : public Dataset {
 public:
  Batched(DatasetPtr dataset, std::int64_t count, bool drop_last)
      : dataset_(std::move(dataset)),
        count_(count),
        size_(drop_last ? dataset_->size() / count : (dataset_->size() + count - 1) / count) {}
  std::int64_t size() const override { return size_; }

  Sample get(std::int64_t index) const override {
    std::vector<at::Tensor> data, targets;
    const std::int64_t end = std::min((index + 1) * count_, dataset_->size());
    for (std::int64_t i = index * count_; i < end; ++i) {
      Sample sample = dataset_->get(i);
      data.push_back(std::move(sample.data));
      targets.push_back(std::move(sample.target));
    }
    return {.data = at::stack(data), .target = at::stack(targets)};
  }

 private:
  DatasetPtr dataset_;
  std::int64_t count_, size_;
};

}  // namespace

DatasetPtr subset(DatasetPtr dataset, std::int64_t first, std::int64_t count) {
  if (first < 0 || count < 0 || count > dataset->size() - first) {
    throw UsageError({.message = "a subset must lie in its data set",
                      .found = fmt::format("{} samples from {} on", count, first),
                      .expected = fmt::format("a part of {}", dataset->size())});
  }
  return std::make_shared<Subset>(std::move(dataset), first, count);
}

DatasetPtr shuffled(DatasetPtr dataset, std::uint64_t seed) {
  DistributedSampler sampler(dataset->size(), {}, {.seed = seed});
  auto order = sampler.next(dataset->size());
  return std::make_shared<Reordered>(std::move(dataset), std::move(order));
}

DatasetPtr mapped(DatasetPtr dataset, std::function<Sample(Sample)> function) {
  return std::make_shared<Mapped>(std::move(dataset), std::move(function));
}

DatasetPtr cached(DatasetPtr dataset, std::int64_t limit_bytes) {
  return std::make_shared<Cached>(std::move(dataset), limit_bytes);
}

DatasetPtr batched(DatasetPtr dataset, std::int64_t count, bool drop_last) {
  if (count <= 0) throw UsageError("a batch needs at least one sample");
  return std::make_shared<Batched>(std::move(dataset), count, drop_last);
}

}  // namespace lockstep::data

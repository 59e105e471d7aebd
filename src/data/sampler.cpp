#include <lockstep/data/sampler.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include <lockstep/data/random_stream.h>

namespace lockstep::data {
namespace {

void require_sense(std::int64_t size, const SamplerOptions& options) {
  if (size <= 0) throw UsageError("a sampler needs a data set with samples in it");
  const auto& weights = options.weights;
  if (options.order != Order::kWeighted) {
    if (!weights.empty()) throw UsageError("weights say nothing unless the order is weighted");
    return;
  }
  if (static_cast<std::int64_t>(weights.size()) != size) {
    throw UsageError({.message = "each sample needs a weight",
                      .found = fmt::format("{} weights", weights.size()),
                      .expected = fmt::format("{}, one for each sample", size)});
  }
  const bool good = std::all_of(weights.begin(), weights.end(), [](double w) { return std::isfinite(w) && w >= 0; });
  if (!good || std::accumulate(weights.begin(), weights.end(), 0.0) <= 0) {
    throw UsageError({.message = "weights must be numbers from 0 up, and not all of them 0"});
  }
}

std::vector<std::int64_t> shuffled(std::int64_t size, RandomStream& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

std::vector<std::int64_t> drawn(const std::vector<double>& weights, RandomStream& random) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  // A draw at the very end must not fall on a sample of weight 0.
  const auto last = std::find_if(weights.rbegin(), weights.rend(), [](double weight) { return weight > 0; });
  const std::int64_t last_possible = weights.rend() - last - 1;
  std::vector<std::int64_t> order(weights.size());
  for (std::int64_t& sample : order) {
    const double point = random.uniform() * sums.back();
    sample = std::min<std::int64_t>(std::upper_bound(sums.begin(), sums.end(), point) - sums.begin(), last_possible);
  }
  return order;
}

}  // namespace

DistributedSampler::DistributedSampler(std::int64_t size, RankId rank, SamplerOptions options)
    : size_(size), rank_(rank), options_(std::move(options)) {
  require_sense(size_, options_);
  make_order();
}

void DistributedSampler::make_order() {
  RandomStream random(options_.seed, static_cast<std::uint64_t>(epoch_), RandomStream::kOrder);
  if (options_.order == Order::kShuffled) order_ = shuffled(size_, random);
  if (options_.order == Order::kWeighted) order_ = drawn(options_.weights, random);
}

void DistributedSampler::set_epoch(std::int64_t epoch) {
  if (epoch != epoch_) {
    epoch_ = epoch;
    make_order();
  }
  position_ = 0;
}

std::int64_t DistributedSampler::at(std::int64_t position) const {
  return order_.empty() ? position : order_[static_cast<std::size_t>(position)];
}

bool DistributedSampler::at_end(std::int64_t count) const {
  const std::int64_t left = size_ - position_;
  return left <= 0 || (options_.tail == Tail::kDrop && left < count * rank_.size);
}

std::int64_t DistributedSampler::steps(std::int64_t count) const {
  const std::int64_t step = count * rank_.size;
  return options_.tail == Tail::kDrop ? size_ / step : (size_ + step - 1) / step;
}

std::vector<std::int64_t> DistributedSampler::next(std::int64_t count) {
  if (count <= 0) throw UsageError("a batch needs at least one sample");
  if (at_end(count)) return {};
  const std::int64_t left = size_ - position_;
  const std::int64_t next_position = std::min(size_, position_ + count * rank_.size);
  std::int64_t first = position_ + rank_.rank * count;
  if (left < count * rank_.size && options_.tail == Tail::kUneven) {
    // The first ranks take one more.
    const std::int64_t share = left / rank_.size, more = left % rank_.size;
    first = position_ + rank_.rank * share + std::min<std::int64_t>(rank_.rank, more);
    count = share + (rank_.rank < more ? 1 : 0);
  }
  std::vector<std::int64_t> samples;
  samples.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) samples.push_back(at((first + i) % size_));
  position_ = next_position;
  return samples;
}

void DistributedSampler::require_size(std::int64_t size) const {
  if (size == size_) return;
  throw UsageError({.message = "the sampler was made for another data set",
                    .found = fmt::format("{} samples", size_),
                    .expected = fmt::format("{}, as the data set has", size)});
}

void DistributedSampler::restore(const SamplerState& state) {
  if (state.position < 0 || state.position > size_ || state.epoch < 0) {
    throw UsageError({.message = "a sampler cannot go on where that one stood",
                      .found = fmt::format("sample {} of epoch {}", state.position, state.epoch),
                      .expected = fmt::format("a place among {} samples", size_),
                      .next = "use the data that the checkpoint was made with"});
  }
  options_.seed = state.seed;
  epoch_ = state.epoch;
  make_order();
  position_ = state.position;
}

}  // namespace lockstep::data

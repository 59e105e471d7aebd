#include "batch_norm_passes.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "../parallel.h"

namespace lockstep::kernels {
namespace {

constexpr std::int64_t kBlockFloats = 1 << 14;  // with all that belongs to them, less than a second-level cache
constexpr std::int64_t kThreadFloats = 2 * kBlockFloats;  // fewer are not worth a thread's time

// Few enough that their sums cost little, many enough for the threads of a large machine; short enough that a first row
// far from all others, which is what deviations are taken from, costs no digits.
std::int64_t rows_per_chunk(std::int64_t rows) {
  constexpr std::int64_t kUnit = 64, kMost = 1024, kChunks = 64;
  const std::int64_t units = (rows + kUnit * kChunks - 1) / (kUnit * kChunks);
  return std::clamp<std::int64_t>(units * kUnit, kUnit, kMost);
}

struct Chunks {
  explicit Chunks(std::int64_t all_rows)
      : rows(all_rows), length(rows_per_chunk(all_rows)), count((all_rows + length - 1) / length) {}
  std::int64_t begin(std::int64_t chunk) const { return chunk * length; }
  std::int64_t size(std::int64_t chunk) const { return std::min(length, rows - begin(chunk)); }

  std::int64_t rows, length, count;
};

// Two sums of each channel for each chunk, by body(sums, scratch, first row, rows).
template <typename Body>
std::unique_ptr<double[]> sum_chunks(const Chunks& chunks, std::int64_t channels, const Body& body) {
  auto sums = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(chunks.count * 2 * channels));
  const std::int64_t grain = std::max<std::int64_t>(1, kThreadFloats / (chunks.length * channels));
  parallel_for(0, chunks.count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> scratch(static_cast<std::size_t>(2 * channels));
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      body(sums.get() + chunk * 2 * channels, scratch.data(), chunks.begin(chunk), chunks.size(chunk));
    }
  });
  return sums;
}

// Calls body(begin, end) for parts of the channels, to add up what the chunks have for each.
template <typename Body>
void for_channels(const Chunks& chunks, std::int64_t channels, const Body& body) {
  parallel_for(0, channels, std::max<std::int64_t>(16, kThreadFloats / 8 / chunks.count), body);
}

// Calls body(first row, rows) for all rows, each thread from its last to its first.
template <typename Body>
void for_rows_from_the_end(std::int64_t rows, std::int64_t channels, const Body& body) {
  const std::int64_t length = std::max<std::int64_t>(4, kBlockFloats / channels / 4 * 4);
  const std::int64_t blocks = (rows + length - 1) / length;
  parallel_for(0, blocks, kThreadFloats / kBlockFloats, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = end; block-- > begin;) {
      body(block * length, std::min(length, rows - block * length));
    }
  });
}

template <typename Value>
GradientRows<Value> part_of(GradientRows<Value> batch, std::int64_t first, std::int64_t rows) {
  batch.rows = rows;
  batch.gradient += first * batch.channels;
  if (batch.second != nullptr) batch.second += first * batch.channels;
  batch.x += first * batch.channels;
  if (batch.positive != nullptr) batch.positive += first * bytes_of_bits(batch.channels);
  return batch;
}

float as_float(float value) {
  return value;
}
float as_float(Bfloat16 value) {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

}  // namespace

template <typename Value>
ChannelMoments batch_moments(const BatchNormKernels<Value>& kernels, const Value* x, std::int64_t rows,
                             std::int64_t channels) {
  const Chunks chunks(rows);
  const auto sums =
      sum_chunks(chunks, channels, [&](double* to, float* scratch, std::int64_t first, std::int64_t count) {
        kernels.sum_deviations(to, scratch, x + first * channels, count, channels);
      });
  const auto size = static_cast<std::size_t>(channels);
  ChannelMoments moments{std::vector<double>(size), std::vector<double>(size)};
  for_channels(chunks, channels, [&](std::int64_t begin, std::int64_t end) {
    double* mean = moments.mean.data();
    double* variance = moments.variance.data();
    for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      const double count = static_cast<double>(chunks.size(chunk)), share = count / static_cast<double>(rows);
      const Value* shift = x + chunks.begin(chunk) * channels;
      double* of_chunk = sums.get() + chunk * 2 * channels;  // becomes its mean and the squares round it
      for (std::int64_t c = begin; c < end; ++c) {
        const double deviation = of_chunk[c] / count;
        of_chunk[channels + c] -= deviation * of_chunk[c];
        of_chunk[c] = static_cast<double>(as_float(shift[c])) + deviation;
        mean[c] += share * of_chunk[c];
      }
    }
    for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      const double count = static_cast<double>(chunks.size(chunk)), part = 1 / static_cast<double>(rows);
      const double* of_chunk = sums.get() + chunk * 2 * channels;
      for (std::int64_t c = begin; c < end; ++c) {
        const double away = of_chunk[c] - mean[c];
        variance[c] += part * (std::max(of_chunk[channels + c], 0.0) + count * away * away);
      }
    }
  });
  return moments;
}

template <typename Value>
void normalize_batch(const BatchNormKernels<Value>& kernels, const NormalizeRows<Value>& batch) {
  const std::int64_t channels = batch.channels;
  for_rows_from_the_end(batch.rows, channels, [&](std::int64_t first, std::int64_t rows) {
    NormalizeRows<Value> part = batch;
    part.rows = rows;
    part.x += first * channels;
    part.y += first * channels;
    if (part.shortcut != nullptr) part.shortcut += first * channels;
    if (part.positive != nullptr) part.positive += first * bytes_of_bits(channels);
    kernels.normalize(part);
  });
}

template <typename Value>
GradientSums sum_gradients(const BatchNormKernels<Value>& kernels, Value* masked, const GradientRows<Value>& batch) {
  const Chunks chunks(batch.rows);
  const std::int64_t channels = batch.channels;
  const auto sums =
      sum_chunks(chunks, channels, [&](double* to, float* scratch, std::int64_t first, std::int64_t rows) {
        kernels.sum_gradients(to, scratch, masked == nullptr ? nullptr : masked + first * channels,
                              part_of(batch, first, rows));
      });
  const auto size = static_cast<std::size_t>(channels);
  GradientSums totals{std::vector<double>(size), std::vector<double>(size)};
  for_channels(chunks, channels, [&](std::int64_t begin, std::int64_t end) {
    double *gradient = totals.gradient.data(), *product = totals.product.data();
    for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
      const double* of_chunk = sums.get() + chunk * 2 * channels;
      for (std::int64_t c = begin; c < end; ++c) gradient[c] += of_chunk[c];
      for (std::int64_t c = begin; c < end; ++c) product[c] += of_chunk[channels + c];
    }
  });
  return totals;
}

template <typename Value>
void input_gradient(const BatchNormKernels<Value>& kernels, Value* out, const float* slope, const float* constant,
                    const GradientRows<Value>& batch) {
  for_rows_from_the_end(batch.rows, batch.channels, [&](std::int64_t first, std::int64_t rows) {
    kernels.input_gradient(out + first * batch.channels, slope, constant, part_of(batch, first, rows));
  });
}

template ChannelMoments batch_moments(const BatchNormKernels<float>&, const float*, std::int64_t, std::int64_t);
template void normalize_batch(const BatchNormKernels<float>&, const NormalizeRows<float>&);
template GradientSums sum_gradients(const BatchNormKernels<float>&, float*, const GradientRows<float>&);
template void input_gradient(const BatchNormKernels<float>&, float*, const float*, const float*,
                             const GradientRows<float>&);
template ChannelMoments batch_moments(const BatchNormKernels<Bfloat16>&, const Bfloat16*, std::int64_t, std::int64_t);
template void normalize_batch(const BatchNormKernels<Bfloat16>&, const NormalizeRows<Bfloat16>&);
template GradientSums sum_gradients(const BatchNormKernels<Bfloat16>&, Bfloat16*, const GradientRows<Bfloat16>&);
template void input_gradient(const BatchNormKernels<Bfloat16>&, Bfloat16*, const float*, const float*,
                             const GradientRows<Bfloat16>&);

}  // namespace lockstep::kernels

#include "batch_norm_passes.h"

#include <algorithm>

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
std::vector<double> sum_chunks(const Chunks& chunks, std::int64_t channels, const Body& body) {
  std::vector<double> sums(static_cast<std::size_t>(chunks.count * 2 * channels));
  const std::int64_t grain = std::max<std::int64_t>(1, kThreadFloats / (chunks.length * channels));
  parallel_for(0, chunks.count, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> scratch(static_cast<std::size_t>(2 * channels));
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      body(sums.data() + chunk * 2 * channels, scratch.data(), chunks.begin(chunk), chunks.size(chunk));
    }
  });
  return sums;
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

GradientRows part_of(GradientRows batch, std::int64_t first, std::int64_t rows) {
  batch.rows = rows;
  batch.gradient += first * batch.channels;
  batch.x += first * batch.channels;
  if (batch.positive != nullptr) batch.positive += first * bytes_of_bits(batch.channels);
  return batch;
}

}  // namespace

ChannelMoments batch_moments(const BatchNormKernels& kernels, const float* x, std::int64_t rows,
                             std::int64_t channels) {
  const Chunks chunks(rows);
  std::vector<double> sums =
      sum_chunks(chunks, channels, [&](double* to, float* scratch, std::int64_t first, std::int64_t count) {
        kernels.sum_deviations(to, scratch, x + first * channels, count, channels);
      });
  const auto size = static_cast<std::size_t>(channels);
  ChannelMoments moments{std::vector<double>(size), std::vector<double>(size)};
  double* mean = moments.mean.data();
  double* variance = moments.variance.data();
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    const double count = static_cast<double>(chunks.size(chunk)), share = count / static_cast<double>(rows);
    const float* shift = x + chunks.begin(chunk) * channels;
    double* of_chunk = sums.data() + chunk * 2 * channels;  // becomes its mean and the squares round it
    for (std::int64_t c = 0; c < channels; ++c) {
      const double deviation = of_chunk[c] / count;
      of_chunk[channels + c] -= deviation * of_chunk[c];
      of_chunk[c] = static_cast<double>(shift[c]) + deviation;
      mean[c] += share * of_chunk[c];
    }
  }
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    const double count = static_cast<double>(chunks.size(chunk)), part = 1 / static_cast<double>(rows);
    const double* of_chunk = sums.data() + chunk * 2 * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      const double away = of_chunk[c] - mean[c];
      variance[c] += part * (std::max(of_chunk[channels + c], 0.0) + count * away * away);
    }
  }
  return moments;
}

void normalize_batch(const BatchNormKernels& kernels, const NormalizeRows& batch) {
  const std::int64_t channels = batch.channels;
  for_rows_from_the_end(batch.rows, channels, [&](std::int64_t first, std::int64_t rows) {
    NormalizeRows part = batch;
    part.rows = rows;
    part.x += first * channels;
    part.y += first * channels;
    if (part.shortcut != nullptr) part.shortcut += first * channels;
    if (part.positive != nullptr) part.positive += first * bytes_of_bits(channels);
    kernels.normalize(part);
  });
}

GradientSums sum_gradients(const BatchNormKernels& kernels, float* masked, const GradientRows& batch) {
  const Chunks chunks(batch.rows);
  const std::int64_t channels = batch.channels;
  const std::vector<double> sums =
      sum_chunks(chunks, channels, [&](double* to, float* scratch, std::int64_t first, std::int64_t rows) {
        kernels.sum_gradients(to, scratch, masked == nullptr ? nullptr : masked + first * channels,
                              part_of(batch, first, rows));
      });
  const auto size = static_cast<std::size_t>(channels);
  GradientSums totals{std::vector<double>(size), std::vector<double>(size)};
  for (std::int64_t chunk = 0; chunk < chunks.count; ++chunk) {
    const double* of_chunk = sums.data() + chunk * 2 * channels;
    for (std::size_t c = 0; c < size; ++c) totals.gradient[c] += of_chunk[c];
    for (std::size_t c = 0; c < size; ++c) totals.product[c] += of_chunk[size + c];
  }
  return totals;
}

void input_gradient(const BatchNormKernels& kernels, float* out, const float* slope, const float* constant,
                    const GradientRows& batch) {
  for_rows_from_the_end(batch.rows, batch.channels, [&](std::int64_t first, std::int64_t rows) {
    kernels.input_gradient(out + first * batch.channels, slope, constant, part_of(batch, first, rows));
  });
}

}  // namespace lockstep::kernels

#include <lockstep/data/mix.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "distributions.h"

namespace lockstep::data {
namespace {

void require_alpha(double alpha) {
  if (std::isfinite(alpha) && alpha > 0) return;
  throw UsageError({.message = "pictures cannot be mixed with this alpha",
                    .found = fmt::format("{}", alpha),
                    .expected = "a number above 0"});
}

// The numbers of one picture.
std::size_t require_batch(std::span<float> pixels, std::span<const std::int64_t> labels, std::int64_t classes,
                          std::span<float> soft_labels) {
  const std::size_t count = labels.size();
  if (count == 0 || pixels.size() % count != 0 || classes <= 0 ||
      soft_labels.size() != count * static_cast<std::size_t>(classes)) {
    throw UsageError({.message = "a batch that is to be mixed does not fit its labels",
                      .found = fmt::format("{} numbers of pixels and {} of soft labels for {} labels of {} classes",
                                           pixels.size(), soft_labels.size(), count, classes)});
  }
  require_classes(labels, classes);
  return pixels.size() / count;
}

void mix_labels(double share, std::span<const std::int64_t> labels, std::int64_t classes, std::span<float> soft) {
  std::fill(soft.begin(), soft.end(), 0.0F);
  const auto width = static_cast<std::size_t>(classes);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::size_t other = i == 0 ? labels.size() - 1 : i - 1;
    soft[i * width + static_cast<std::size_t>(labels[other])] += static_cast<float>(1.0 - share);
    soft[i * width + static_cast<std::size_t>(labels[i])] += static_cast<float>(share);
  }
}

// Calls `combine(picture, other)` from the last picture to the first, so that the other one is still as it was.
template <typename Combine>
void for_each_pair(std::span<float> pixels, std::size_t length, const Combine& combine) {
  const std::size_t count = pixels.size() / length;
  const auto picture = [&](std::size_t i) { return pixels.subspan(i * length, length); };
  const std::vector<float> last(picture(count - 1).begin(), picture(count - 1).end());
  for (std::size_t i = count - 1; i > 0; --i) combine(picture(i), std::span<const float>(picture(i - 1)));
  combine(picture(0), std::span<const float>(last));
}

}  // namespace

void require_classes(std::span<const std::int64_t> labels, std::int64_t classes) {
  for (const std::int64_t label : labels) {
    if (label >= 0 && label < classes) continue;
    throw UsageError({.message = "a label is no class",
                      .found = std::to_string(label),
                      .expected = fmt::format("0 to {}", classes - 1)});
  }
}

void Mixing::check() const {
  if (mix_up < 0 || cut_mix < 0) throw UsageError("the alpha of MixUp and CutMix must not be negative");
  if (chance > 0 && chance <= 1) return;
  throw UsageError({.message = "batches cannot be mixed with this chance",
                    .found = fmt::format("{}", chance),
                    .expected = "a number above 0 and not above 1"});
}

Mix draw_mix(const Mixing& mixing, ImageSize size, RandomStream& random) {
  if (mixing.chance < 1 && !random.chance(mixing.chance)) return MixUp{};
  const bool by_mix_up = mixing.cut_mix <= 0 || (mixing.mix_up > 0 && random.chance(0.5));
  if (by_mix_up) return draw_mix_up(mixing.mix_up, random);
  return draw_cut_mix(mixing.cut_mix, size, random);
}

MixUp draw_mix_up(double alpha, RandomStream& random) {
  require_alpha(alpha);
  return {.share = draw_beta(alpha, random)};
}

CutMix draw_cut_mix(double alpha, ImageSize size, RandomStream& random) {
  require_alpha(alpha);
  const double half = 0.5 * std::sqrt(1 - draw_beta(alpha, random));
  const int center_x = static_cast<int>(random.below(static_cast<std::uint64_t>(size.width)));
  const int center_y = static_cast<int>(random.below(static_cast<std::uint64_t>(size.height)));
  const int half_width = static_cast<int>(half * size.width), half_height = static_cast<int>(half * size.height);
  const int left = std::max(center_x - half_width, 0), right = std::min(center_x + half_width, size.width);
  const int top = std::max(center_y - half_height, 0), bottom = std::min(center_y + half_height, size.height);
  const Region box{left, top, right - left, bottom - top};
  // The box may have been cut off at the border: the labels go by what is left of it.
  const double area = static_cast<double>(size.width) * size.height;
  return {.share = 1 - static_cast<double>(box.width) * box.height / area, .box = box};
}

void mix_up(const MixUp& mix, std::span<float> pixels, std::span<const std::int64_t> labels, std::int64_t classes,
            std::span<float> soft_labels) {
  const std::size_t length = require_batch(pixels, labels, classes, soft_labels);
  const auto own = static_cast<float>(mix.share), others = static_cast<float>(1.0 - mix.share);
  if (mix.share < 1) {
    for_each_pair(pixels, length, [&](std::span<float> picture, std::span<const float> other) {
      for (std::size_t i = 0; i < picture.size(); ++i) picture[i] = other[i] * others + picture[i] * own;
    });
  }
  mix_labels(mix.share, labels, classes, soft_labels);
}

void cut_mix(const CutMix& mix, ImageSize size, std::span<float> pixels, std::span<const std::int64_t> labels,
             std::int64_t classes, std::span<float> soft_labels) {
  const std::size_t length = require_batch(pixels, labels, classes, soft_labels);
  const auto width = static_cast<std::size_t>(size.width), area = width * static_cast<std::size_t>(size.height);
  const Region& box = mix.box;
  if (area == 0 || length % area != 0 || box.left < 0 || box.top < 0 || box.width < 0 || box.height < 0 ||
      box.left > size.width - box.width || box.top > size.height - box.height) {
    throw UsageError(
        {.message = "a box that is to be mixed does not fit the pictures",
         .found = fmt::format("{} x {} at {}, {}", box.width, box.height, box.left, box.top),
         .expected = fmt::format("a part of {} x {} pixels, {} numbers in all", size.width, size.height, length)});
  }
  const std::size_t channels = length / area;
  for_each_pair(pixels, length, [&](std::span<float> picture, std::span<const float> other) {
    for (int y = box.top; y < box.top + box.height; ++y) {
      const std::size_t begin = (static_cast<std::size_t>(y) * width + static_cast<std::size_t>(box.left)) * channels;
      std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(begin), static_cast<std::size_t>(box.width) * channels,
                  picture.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  });
  mix_labels(mix.share, labels, classes, soft_labels);
}

}  // namespace lockstep::data

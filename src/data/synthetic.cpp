#include <lockstep/data/synthetic.h>

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include <lockstep/data/random_stream.h>

#include "check_index.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kMaxPicture = std::uint64_t{1} << 30;
constexpr std::uint64_t kRingBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxRing = 64;
constexpr int kMaxClasses = 1'000'000;
// Streams of one seed that must not be the same: pixels of picture i and label of picture i.
constexpr std::uint64_t kPixels = 0, kLabel = 1;

std::uint64_t bytes_of_picture(const SyntheticOptions& o) {
  constexpr int kMaxSide = 1 << 20;
  const bool possible = o.width > 0 && o.height > 0 && o.channels > 0 && o.width <= kMaxSide && o.height <= kMaxSide &&
                        o.channels <= 1024;
  const std::uint64_t bytes = possible ? static_cast<std::uint64_t>(o.width) * static_cast<std::uint64_t>(o.height) *
                                             static_cast<std::uint64_t>(o.channels)
                                       : 0;
  if (bytes == 0 || bytes > kMaxPicture) {
    throw UsageError({.message = "synthetic pictures cannot have this shape",
                      .found = fmt::format("{} x {} x {}", o.height, o.width, o.channels),
                      .expected = "height x width x channels, at least 1 each and at most 1 GiB in all"});
  }
  return bytes;
}

void fill(std::span<std::uint8_t> pixels, RandomStream random) {
  while (!pixels.empty()) {
    const std::uint64_t number = random();
    const std::size_t count = std::min(pixels.size(), sizeof number);
    std::memcpy(pixels.data(), &number, count);
    pixels = pixels.subspan(count);
  }
}

}  // namespace

SyntheticPictures::SyntheticPictures(const SyntheticOptions& options)
    : options_(options), picture_bytes_(bytes_of_picture(options)) {
  if (options.count < 1) {
    throw UsageError({.message = "a data set needs pictures", .found = std::to_string(options.count)});
  }
  if (options.classes < 1 || options.classes > kMaxClasses) {
    throw UsageError({.message = "synthetic pictures cannot have that many classes",
                      .found = std::to_string(options.classes),
                      .expected = fmt::format("1 to {}", kMaxClasses)});
  }
  for (int i = 0; i < options.classes; ++i) classes_.push_back(fmt::format("class {}", i));
  const std::uint64_t fitting = std::clamp<std::uint64_t>(kRingBytes / picture_bytes_, 1, kMaxRing);
  ring_ = std::min(options.count, static_cast<std::int64_t>(fitting));
  pixels_.resize(static_cast<std::size_t>(ring_) * picture_bytes_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(ring_); ++i) {
    fill(std::span(pixels_).subspan(i * picture_bytes_, picture_bytes_), RandomStream(options.seed, kPixels, i));
  }
}

Picture SyntheticPictures::get(std::int64_t index) const {
  check_index(index, size());
  const auto place = static_cast<std::size_t>(index % ring_);
  RandomStream random(options_.seed, kLabel, static_cast<std::uint64_t>(index));
  return {.form = Picture::Form::kPixels,
          .bytes = std::as_bytes(std::span(pixels_).subspan(place * picture_bytes_, picture_bytes_)),
          .owner = nullptr,
          .width = options_.width,
          .height = options_.height,
          .channels = options_.channels,
          .label = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(options_.classes)))};
}

std::string SyntheticPictures::name(std::int64_t index) const {
  check_index(index, size());
  return fmt::format("synthetic image {}", index);
}

}  // namespace lockstep::data

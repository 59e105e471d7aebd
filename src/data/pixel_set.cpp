#include <lockstep/data/pixel_set.h>

#include <algorithm>

#include <fmt/format.h>

#include "check_index.h"

namespace lockstep::data {

PixelSet::PixelSet(PixelSetContent content) : content_(std::move(content)) {
  const PixelSetContent& c = content_;
  if (c.width < 1 || c.height < 1 || c.channels < 1) {
    throw UsageError(
        {.message = "pictures have no pixels", .found = fmt::format("{} x {} x {}", c.height, c.width, c.channels)});
  }
  picture_bytes_ =
      static_cast<std::size_t>(c.width) * static_cast<std::size_t>(c.height) * static_cast<std::size_t>(c.channels);
  if (c.pixels.size() % picture_bytes_ != 0 || c.pixels.size() / picture_bytes_ != c.labels.size()) {
    throw UsageError({.message = "labels do not fit their pictures",
                      .found = fmt::format("{} labels, {} bytes of pixels", c.labels.size(), c.pixels.size()),
                      .expected = fmt::format("{} bytes for each label", picture_bytes_)});
  }
  const auto classes = static_cast<std::int64_t>(c.classes.size());
  const auto is_wrong = [classes](std::int64_t label) { return label < 0 || label >= classes; };
  if (const auto wrong = std::find_if(c.labels.begin(), c.labels.end(), is_wrong); wrong != c.labels.end()) {
    throw UsageError({.message = fmt::format("{} has a label that is no class", name(wrong - c.labels.begin())),
                      .found = std::to_string(*wrong),
                      .expected = fmt::format("0 to {}", classes - 1)});
  }
}

Picture PixelSet::get(std::int64_t index) const {
  check_index(index, size());
  const auto place = static_cast<std::size_t>(index);
  return {.form = Picture::Form::kPixels,
          .bytes = std::as_bytes(pixels().subspan(place * picture_bytes_, picture_bytes_)),
          .owner = nullptr,
          .width = width(),
          .height = height(),
          .channels = channels(),
          .label = content_.labels[place]};
}

std::string PixelSet::name(std::int64_t index) const {
  check_index(index, size());
  const auto after = std::upper_bound(content_.origins.begin(), content_.origins.end(), index,
                                      [](std::int64_t i, const auto& origin) { return i < origin.first; });
  if (after == content_.origins.begin()) return fmt::format("image {}", index);
  return fmt::format("{}, image {}", (after - 1)->file, index - (after - 1)->first);
}

}  // namespace lockstep::data

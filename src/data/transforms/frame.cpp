#include "frame.h"

#include <algorithm>
#include <cmath>

namespace lockstep::data {
namespace {

// One direction of a region.
struct Span {
  int begin, end;
};

// What `part` of `window` is in the coordinates that the window is given in.
Span within(Span window, int begin, int length, bool reversed) {
  const int size = window.end - window.begin;
  const int first = reversed ? size - begin - length : begin;
  return {window.begin + first, window.begin + first + length};
}

// A span may only go beyond the window where the window itself ends at the border or beyond it: else it would show
// pixels that were cut off before.
bool may_become(Span window, Span wanted, int size) {
  return (wanted.begin >= window.begin || window.begin <= 0) && (wanted.end <= window.end || window.end >= size);
}

bool contains(Span window, Span wanted) {
  return wanted.begin >= window.begin && wanted.end <= window.end;
}

bool inside(Span span, int size) {
  return span.begin >= 0 && span.end <= size;
}

// The source pixels that `wanted` of `scaled` pixels are made from, out of `length`.
Span sources_of(Span wanted, int scaled, int length) {
  const double step = static_cast<double>(length) / scaled, support = std::max(step, 1.0);
  const double low = (wanted.begin + 0.5) * step - support, high = (wanted.end - 0.5) * step + support;
  return {std::max(0, static_cast<int>(std::floor(low))), std::min(length, static_cast<int>(std::ceil(high)))};
}

Span columns(const Region& region) {
  return {region.left, region.left + region.width};
}

Span rows(const Region& region) {
  return {region.top, region.top + region.height};
}

Region region_of(Span columns, Span rows) {
  return {columns.begin, rows.begin, columns.end - columns.begin, rows.end - rows.begin};
}

Span cut(Span span, int size) {
  const int begin = std::clamp(span.begin, 0, size);
  return {begin, std::clamp(span.end, begin, size)};
}

}  // namespace

Frame::Frame(ImageSize picture)
    : picture_(picture),
      source_{0, 0, picture.width, picture.height},
      scaled_(picture),
      window_{0, 0, picture.width, picture.height} {}

bool Frame::is_whole() const {
  return !resizes() && !mirrored_ && !upended_ && window_.left == 0 && window_.top == 0 && size() == scaled_ &&
         scaled_ == picture_;
}

bool Frame::join(const Crop& crop) {
  const Span x = within(columns(window_), crop.region.left, crop.region.width, mirrored_);
  const Span y = within(rows(window_), crop.region.top, crop.region.height, upended_);
  if (!may_become(columns(window_), x, scaled_.width) || !may_become(rows(window_), y, scaled_.height)) return false;
  if (!contains(columns(window_), x) || !contains(rows(window_), y)) {
    const bool filled = !inside(columns(window_), scaled_.width) || !inside(rows(window_), scaled_.height);
    if (crop.mode != PadMode::kConstant || (filled && fill_ != crop.fill)) return false;
    fill_ = crop.fill;
  }
  window_ = region_of(x, y);
  return true;
}

bool Frame::join(const Scale& scale) {
  if (scale.size == size()) return true;
  const bool filled = !inside(columns(window_), scaled_.width) || !inside(rows(window_), scaled_.height);
  if (resizes() || mirrored_ || upended_ || filled) return false;
  source_ = {source_.left + window_.left, source_.top + window_.top, window_.width, window_.height};
  scaled_ = scale.size;
  window_ = {0, 0, scaled_.width, scaled_.height};
  return true;
}

bool Frame::join(const Flip& flip) {
  mirrored_ ^= flip.horizontal;
  upended_ ^= flip.vertical;
  return true;
}

Region Frame::inner() const {
  return region_of(cut(columns(window_), scaled_.width), cut(rows(window_), scaled_.height));
}

Region Frame::needed() const {
  Region part = inner();
  if (part.width == 0 || part.height == 0) return {};
  if (resizes()) {
    part = region_of(sources_of(columns(part), scaled_.width, source_.width),
                     sources_of(rows(part), scaled_.height, source_.height));
  }
  return {source_.left + part.left, source_.top + part.top, part.width, part.height};
}

int Frame::shrink() const {
  int shrink = 1;
  while (shrink < 8 && source_.width >= scaled_.width * shrink * 2 && source_.height >= scaled_.height * shrink * 2) {
    shrink *= 2;
  }
  return shrink;
}

}  // namespace lockstep::data

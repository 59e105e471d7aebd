#include "render.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pixel_operations.h"

namespace lockstep::data {
namespace {

void grow(std::vector<std::uint8_t>& bytes, std::size_t size) {
  if (bytes.size() < size) bytes.resize(size);
}

// Where the pixels of a row of the frame come from, after mirroring: so many filled, so many made, so many filled.
class RowLayout {
 public:
  RowLayout(const Frame& frame, int channels) : frame_(frame), channels_(static_cast<std::size_t>(channels)) {
    const Region inner = frame.inner();
    left_ = inner.left - frame.window().left;
    right_ = frame.window().width - inner.width - left_;
    if (frame.mirrored()) std::swap(left_, right_);
    if (inner.width == 0) left_ = 0, right_ = frame.window().width;
  }

  bool filled() const { return left_ > 0 || right_ > 0; }
  std::size_t left_bytes() const { return static_cast<std::size_t>(left_) * channels_; }
  std::size_t bytes() const { return static_cast<std::size_t>(frame_.window().width) * channels_; }

  // After the pixels between them are made, because that may write beyond their end.
  void fill_sides(std::uint8_t* row) const {
    fill(row, left_);
    fill(row + bytes() - static_cast<std::size_t>(right_) * channels_, right_);
  }
  void fill_all(std::uint8_t* row) const { fill(row, frame_.window().width); }

 private:
  void fill(std::uint8_t* out, int pixels) const {
    fill_pixels(out, static_cast<std::size_t>(pixels), static_cast<int>(channels_), frame_.fill());
  }

  const Frame& frame_;
  const std::size_t channels_;
  int left_ = 0, right_ = 0;
};

// Hands the rows out in the order of the frame before it is upended, those that are filled on their own.
template <typename Make>
void for_each_row(const Frame& frame, const RowLayout& layout, std::uint8_t* row, RowSink& sink, const Make& make) {
  const Region inner = frame.inner();
  const int height = frame.window().height;
  const int first = inner.top - frame.window().top;
  const auto place = [&](int y) { return frame.upended() ? height - 1 - y : y; };
  const bool nothing = inner.width == 0 || inner.height == 0;
  const int begin = nothing ? height : first, end = nothing ? height : first + inner.height;
  if (begin > 0 || end < height) {
    layout.fill_all(row);
    for (int y = 0; y < begin; ++y) sink.put(place(y), row);
    for (int y = end; y < height; ++y) sink.put(place(y), row);
  }
  for (int y = begin; y < end; ++y) sink.put(place(y), make(y - begin));
}

void copy_rows(const PixelView& view, const Frame& frame, const PixelKernels& kernels, RenderMemory& memory,
               RowSink& sink) {
  const RowLayout layout(frame, view.channels);
  grow(memory.row, layout.bytes() + kRowSlack);
  const Region inner = frame.inner();
  const int left = frame.source().left + inner.left - view.region.left;
  const int top = frame.source().top + inner.top - view.region.top;
  const auto offset = static_cast<std::size_t>(left) * static_cast<std::size_t>(view.channels);
  const auto bytes = static_cast<std::size_t>(inner.width) * static_cast<std::size_t>(view.channels);
  for_each_row(frame, layout, memory.row.data(), sink, [&](int y) -> const std::uint8_t* {
    const std::uint8_t* row = view.row(top + y) + offset;
    if (!layout.filled() && !frame.mirrored()) return row;
    std::uint8_t* made = memory.row.data() + layout.left_bytes();
    if (frame.mirrored()) {
      kernels.mirror_row(made, row, inner.width, view.channels);
    } else {
      std::memcpy(made, row, bytes);
    }
    layout.fill_sides(memory.row.data());
    return memory.row.data();
  });
}

// How a frame's direction lies in the view, which may be smaller than the picture and begin between two pixels.
Stretch stretch_of(int source_begin, int source_length, int view_begin, int view_size, int shrink, int scaled,
                   int begin, int count) {
  const double start = static_cast<double>(source_begin - view_begin) / shrink;
  const double length = static_cast<double>(source_length) / shrink;
  return {.start = start,
          .length = length,
          .scaled = scaled,
          .begin = begin,
          .count = count,
          .low = std::max(0, (source_begin - view_begin) / shrink),
          .high = std::min(view_size, (source_begin + source_length - view_begin + shrink - 1) / shrink)};
}

// The rows of the view made narrower or wider, each when it is first needed.
class Narrowed {
 public:
  Narrowed(const PixelView& view, const RowTaps& taps, const PixelKernels& kernels, int first_row, RenderMemory& memory)
      : view_(view), taps_(taps), kernels_(kernels), memory_(memory), first_row_(first_row), next_(first_row) {
    const auto channels = static_cast<std::size_t>(view.channels);
    stride_ = static_cast<std::size_t>(taps.count) * channels + kRowSlack;
    reach_ = static_cast<std::size_t>(memory.columns.reach()) * channels + 16;
    grow(memory.last_row, std::max(view.row_bytes(), reach_));
  }

  std::size_t stride() const { return stride_; }

  // Rows `begin` to `end` of the view.
  const std::uint8_t* rows(int begin, int end) {
    grow(memory_.resampled, static_cast<std::size_t>(end - first_row_) * stride_ + kRowSlack);
    for (; next_ < end; ++next_) kernels_.resample_row(made(next_), readable(next_), taps_, view_.channels);
    return made(begin);
  }

 private:
  std::uint8_t* made(int y) { return memory_.resampled.data() + static_cast<std::size_t>(y - first_row_) * stride_; }

  // The last rows of the view have nothing behind them that could be read.
  const std::uint8_t* readable(int y) {
    const std::uint8_t* row = view_.row(y);
    if (static_cast<std::size_t>(y) * view_.row_bytes() + reach_ <= view_.bytes()) return row;
    std::memcpy(memory_.last_row.data(), row, view_.row_bytes());
    return memory_.last_row.data();
  }

  const PixelView& view_;
  const RowTaps& taps_;
  const PixelKernels& kernels_;
  RenderMemory& memory_;
  const int first_row_;
  int next_;
  std::size_t stride_ = 0, reach_ = 0;
};

void resample(const PixelView& view, const Frame& frame, const PixelKernels& kernels, RenderMemory& memory,
              RowSink& sink) {
  const RowLayout layout(frame, view.channels);
  grow(memory.row, layout.bytes() + kRowSlack);
  const Region inner = frame.inner(), source = frame.source();
  if (inner.width > 0 && inner.height > 0) {
    memory.columns.build(stretch_of(source.left, source.width, view.region.left, view.size.width, view.shrink,
                                    frame.scaled().width, inner.left, inner.width));
    memory.rows.build(stretch_of(source.top, source.height, view.region.top, view.size.height, view.shrink,
                                 frame.scaled().height, inner.top, inner.height));
  }
  const FilterTable& weights = memory.rows;
  const RowTaps taps = memory.columns.for_rows(frame.mirrored());
  Narrowed narrowed(view, taps, kernels, weights.count() > 0 ? weights.first(0) : 0, memory);
  const auto bytes = static_cast<std::size_t>(inner.width) * static_cast<std::size_t>(view.channels);
  for_each_row(frame, layout, memory.row.data(), sink, [&](int y) {
    const int first = weights.first(y);
    kernels.combine_rows(memory.row.data() + layout.left_bytes(), narrowed.rows(first, first + weights.taps()),
                         narrowed.stride(), weights.weights(y), weights.taps(), weights.shift(), bytes);
    if (layout.filled()) layout.fill_sides(memory.row.data());
    return memory.row.data();
  });
}

}  // namespace

void render(const PixelView& view, const Frame& frame, const PixelKernels& kernels, RenderMemory& memory,
            RowSink& sink) {
  if (frame.resizes() || view.shrink != 1) {
    resample(view, frame, kernels, memory, sink);
  } else {
    copy_rows(view, frame, kernels, memory, sink);
  }
}

}  // namespace lockstep::data

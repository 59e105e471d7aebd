#include "picture_work.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "../picture_size.h"
#include "pixel_operations.h"
#include "row_sinks.h"

namespace lockstep::data {
namespace {

// What an operation is to pixels that are all there.
struct Apply {
  Image& image;
  Image& spare;

  ImageSize size() const { return {image.width(), image.height()}; }
  void affine(const AffineMatrix& matrix, Interpolation interpolation, const Fill& fill) {
    transform_affine(image, spare, matrix, interpolation, fill);
  }

  void operator()(const Rotate& o) { affine(rotation(size(), o.degrees), o.interpolation, o.fill); }
  void operator()(const Shear& o) { affine(shearing(o.x, o.y), o.interpolation, o.fill); }
  void operator()(const Translate& o) { affine(translation(size(), o.x, o.y), o.interpolation, o.fill); }
  void operator()(const Brightness& o) { adjust_brightness(image, o.factor); }
  void operator()(const Contrast& o) { adjust_contrast(image, o.factor); }
  void operator()(const Saturation& o) { adjust_saturation(image, o.factor); }
  void operator()(const Sharpness& o) { adjust_sharpness(image, spare, o.factor); }
  void operator()(const Hue& o) { turn_hue(image, o.turn); }
  void operator()(const Posterize& o) { posterize(image, o.bits); }
  void operator()(const Solarize& o) { solarize(image, o.threshold); }
  void operator()(const AutoContrast&) { auto_contrast(image); }
  void operator()(const Equalize&) { equalize(image); }
  void operator()(const Invert&) { invert(image); }
  void operator()(const Grayscale& o) { to_gray(image, spare, o.channels); }
};

template <typename Kind>
constexpr bool kIsFramed = std::is_same_v<Kind, Crop> || std::is_same_v<Kind, Scale> || std::is_same_v<Kind, Flip>;

}  // namespace

PictureWork::PictureWork(const Picture& picture, int channels, const DecodeLimits& limits, WorkMemory& memory)
    : picture_(picture), limits_(limits), memory_(memory), frame_(size_of(picture, limits)) {
  if (picture.form == Picture::Form::kEncoded) return;
  const Region whole{0, 0, picture.width, picture.height};
  view_ = {.pixels = reinterpret_cast<const std::uint8_t*>(picture.bytes.data()),
           .size = size(),
           .channels = picture.channels,
           .region = whole};
  if (picture.channels == 1 && channels == 3) {
    Image& gray = memory_.spare;
    gray.reset(picture.width, picture.height, 1);
    std::copy_n(view_.pixels, view_.bytes(), gray.pixels().data());
    to_gray(gray, memory_.image, channels);
    std::swap(gray, memory_.image);
    view_image(memory_.image, whole, 1);
    owned_ = true;
  }
}

void PictureWork::view_image(const Image& image, const Region& region, int shrink) {
  view_ = {.pixels = image.pixels().data(),
           .size = {image.width(), image.height()},
           .channels = image.channels(),
           .region = region,
           .shrink = shrink};
}

const PixelView& PictureWork::view() {
  if (view_.pixels != nullptr) return view_;
  Region needed = frame_.needed();
  // A frame that shows only what is filled must still find out whether the picture is one.
  if (needed.width == 0 || needed.height == 0) needed = {0, 0, 1, 1};
  const Decoded decoded = decode(picture_.bytes, needed, frame_.shrink(), 3, memory_.decoded, limits_);
  view_image(memory_.decoded, decoded.region, decoded.shrink);
  return view_;
}

Image& PictureWork::materialize() {
  Image& image = memory_.image;
  if (owned_ && frame_.is_whole()) return image;
  const ImageSize made = size();
  if (static_cast<std::int64_t>(made.width) * made.height > limits_.pixels) {
    throw SampleError({.message = "a picture becomes too large on its way through the transforms",
                       .found = fmt::format("{} x {} pixels", made.width, made.height),
                       .expected = fmt::format("at most {} pixels", limits_.pixels)});
  }
  const PixelView& from = view();
  Image& target = memory_.spare;
  target.reset(made.width, made.height, from.channels);
  ByteSink sink(target.pixels(), target.row_bytes());
  render(from, frame_, pixel_kernels(), memory_.render, sink);
  std::swap(image, target);
  frame_ = Frame(made);
  view_image(image, {0, 0, made.width, made.height}, 1);
  owned_ = true;
  return image;
}

template <typename Step>
void PictureWork::frame(const Step& step) {
  if (frame_.join(step)) return;
  materialize();
  frame_.join(step);
}

void PictureWork::frame(const Crop& crop) {
  if (frame_.join(crop)) return;
  Image& image = materialize();
  if (frame_.join(crop)) return;
  crop_padded(image, memory_.spare, crop);
  frame_ = Frame({crop.region.width, crop.region.height});
  view_image(image, {0, 0, crop.region.width, crop.region.height}, 1);
}

void PictureWork::add(const Operation& operation) {
  std::visit(
      [&]<typename Kind>(const Kind& kind) {
        if constexpr (kIsFramed<Kind>) {
          frame(kind);
        } else if constexpr (!std::is_same_v<Kind, Erase>) {
          Image& image = materialize();
          Apply{image, memory_.spare}(kind);
          view_image(image, {0, 0, image.width(), image.height()}, 1);
        }
      },
      operation);
}

void PictureWork::finish(RowSink& sink) {
  render(view(), frame_, pixel_kernels(), memory_.render, sink);
}

}  // namespace lockstep::data

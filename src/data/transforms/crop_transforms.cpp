#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <lockstep/data/picture.h>
#include <lockstep/data/transform.h>

#include "transform_checks.h"

namespace lockstep::data {
namespace {

// As Python's int(round(value)): half way goes to the even number.
int round_to_int(double value) {
  return static_cast<int>(std::nearbyint(value));
}

int draw_offset(int room, RandomStream& random) {
  return static_cast<int>(random.below(static_cast<std::uint64_t>(room) + 1));
}

class RandomResizedCrop : public Transform {
 public:
  explicit RandomResizedCrop(const RandomResizedCropOptions& options) : options_(options) {}

  void draw(ImageSize size, RandomStream& random, std::vector<Operation>& operations) const override {
    operations.emplace_back(Crop{.region = draw_region(size, random)});
    operations.emplace_back(Scale{options_.size});
  }
  ImageSize output_size(ImageSize) const override { return options_.size; }

 private:
  Region draw_region(ImageSize size, RandomStream& random) const {
    constexpr int kTries = 10;
    const double area = static_cast<double>(size.width) * size.height;
    for (int i = 0; i < kTries; ++i) {
      const double target = area * random.uniform(options_.scale.low, options_.scale.high);
      const double ratio = std::exp(random.uniform(std::log(options_.ratio.low), std::log(options_.ratio.high)));
      const double width = std::sqrt(target * ratio), height = std::sqrt(target / ratio);
      if (width > size.width + 1.0 || height > size.height + 1.0) continue;
      const int w = round_to_int(width), h = round_to_int(height);
      if (w > 0 && w <= size.width && h > 0 && h <= size.height) {
        const int top = draw_offset(size.height - h, random), left = draw_offset(size.width - w, random);
        return {left, top, w, h};
      }
    }
    return central_region(size);
  }

  // The largest part in the middle whose ratio is in range.
  Region central_region(ImageSize size) const {
    const double ratio = static_cast<double>(size.width) / size.height;
    int width = size.width, height = size.height;
    if (ratio < options_.ratio.low) height = std::max(1, round_to_int(width / options_.ratio.low));
    if (ratio > options_.ratio.high) width = std::max(1, round_to_int(height * options_.ratio.high));
    return {(size.width - width) / 2, (size.height - height) / 2, width, height};
  }

  const RandomResizedCropOptions options_;
};

class ResizeShorter : public Transform {
 public:
  explicit ResizeShorter(int shorter) : shorter_(shorter) {}

  void draw(ImageSize size, RandomStream&, std::vector<Operation>& operations) const override {
    operations.emplace_back(Scale{output_size(size)});
  }

  ImageSize output_size(ImageSize size) const override {
    const int shorter = std::min(size.width, size.height), longer = std::max(size.width, size.height);
    const std::int64_t length = static_cast<std::int64_t>(shorter_) * longer / shorter;
    if (length > kLargestSide) {
      throw SampleError(
          {.message = fmt::format("a picture becomes too long when its shorter side is resized to {}", shorter_),
           .found = fmt::format("{} x {} pixels", size.width, size.height),
           .expected = fmt::format("at most {} after it", kLargestSide)});
    }
    const int other = static_cast<int>(length);
    return size.width <= size.height ? ImageSize{shorter_, other} : ImageSize{other, shorter_};
  }

 private:
  const int shorter_;
};

class ResizeExactly : public Transform {
 public:
  explicit ResizeExactly(ImageSize size) : size_(size) {}

  void draw(ImageSize, RandomStream&, std::vector<Operation>& operations) const override {
    operations.emplace_back(Scale{size_});
  }
  ImageSize output_size(ImageSize) const override { return size_; }

 private:
  const ImageSize size_;
};

class CenterCrop : public Transform {
 public:
  explicit CenterCrop(ImageSize size) : size_(size) {}

  void draw(ImageSize size, RandomStream&, std::vector<Operation>& operations) const override {
    operations.emplace_back(
        Crop{.region = {begin(size.width, size_.width), begin(size.height, size_.height), size_.width, size_.height}});
  }
  ImageSize output_size(ImageSize) const override { return size_; }
  bool suits_devices() const override { return true; }

 private:
  // An odd pixel of padding goes to the end; one that is cut off is rounded to even.
  static int begin(int size, int wanted) {
    return wanted > size ? -((wanted - size) / 2) : round_to_int((size - wanted) / 2.0);
  }

  const ImageSize size_;
};

ImageSize padded(ImageSize size, const Padding& padding) {
  return {size.width + padding.left + padding.right, size.height + padding.top + padding.bottom};
}

bool has_no_color(const auto& options) {
  return options.mode != PadMode::kConstant || options.fill == Fill{};
}

class Pad : public Transform {
 public:
  explicit Pad(const PadOptions& options) : options_(options) {}

  void draw(ImageSize size, RandomStream&, std::vector<Operation>& operations) const override {
    const ImageSize out = output_size(size);
    operations.emplace_back(Crop{.region = {-options_.padding.left, -options_.padding.top, out.width, out.height},
                                 .mode = options_.mode,
                                 .fill = options_.fill});
  }
  ImageSize output_size(ImageSize size) const override { return padded(size, options_.padding); }
  bool suits_devices() const override { return has_no_color(options_); }

 private:
  const PadOptions options_;
};

class RandomCrop : public Transform {
 public:
  explicit RandomCrop(const RandomCropOptions& options) : options_(options) {}

  void draw(ImageSize size, RandomStream& random, std::vector<Operation>& operations) const override {
    const ImageSize room = padded(size, options_.padding), wanted = options_.size;
    if (room.width < wanted.width || room.height < wanted.height) {
      throw SampleError({.message = "a picture is smaller than the crop that is to be taken from it",
                         .found = fmt::format("{} x {} pixels with padding", room.width, room.height),
                         .expected = fmt::format("at least {} x {}", wanted.width, wanted.height),
                         .next = "resize first, or raise the padding of random_crop"});
    }
    const int top = draw_offset(room.height - wanted.height, random);
    const int left = draw_offset(room.width - wanted.width, random);
    operations.emplace_back(
        Crop{.region = {left - options_.padding.left, top - options_.padding.top, wanted.width, wanted.height},
             .mode = options_.mode,
             .fill = options_.fill});
  }
  ImageSize output_size(ImageSize) const override { return options_.size; }
  bool suits_devices() const override { return has_no_color(options_); }

 private:
  const RandomCropOptions options_;
};

void require_padding(const char* transform, const Padding& padding) {
  const auto [least, most] = std::minmax({padding.left, padding.top, padding.right, padding.bottom});
  if (least >= 0 && most <= kLargestSide) return;
  refuse_option(transform, "the padding",
                fmt::format("{}, {}, {}, {}", padding.left, padding.top, padding.right, padding.bottom),
                fmt::format("0 to {} on each side", kLargestSide));
}

}  // namespace

TransformPtr random_resized_crop(const RandomResizedCropOptions& options) {
  constexpr double kSmallest = std::numeric_limits<double>::min(), kLargest = std::numeric_limits<double>::infinity();
  require_size("random_resized_crop", options.size);
  require_range("random_resized_crop", "the scale", options.scale, kSmallest, 1);
  require_range("random_resized_crop", "the ratio", options.ratio, kSmallest, kLargest);
  return std::make_shared<RandomResizedCrop>(options);
}

TransformPtr resize(int shorter) {
  require_size("resize", {shorter, shorter});
  return std::make_shared<ResizeShorter>(shorter);
}

TransformPtr resize(ImageSize size) {
  require_size("resize", size);
  return std::make_shared<ResizeExactly>(size);
}

TransformPtr center_crop(ImageSize size) {
  require_size("center_crop", size);
  return std::make_shared<CenterCrop>(size);
}

TransformPtr pad(const PadOptions& options) {
  require_padding("pad", options.padding);
  return std::make_shared<Pad>(options);
}

TransformPtr random_crop(const RandomCropOptions& options) {
  require_size("random_crop", options.size);
  require_padding("random_crop", options.padding);
  return std::make_shared<RandomCrop>(options);
}

}  // namespace lockstep::data

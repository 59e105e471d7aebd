// The transforms of torchvision, under its names and with its defaults. A transform only decides: from random numbers
// and a picture's size it draws the operations that are to be done, and the Pipeline does them, several in one pass
// where it can.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <lockstep/data/operation.h>

namespace lockstep::data {

// (value / 255 - mean) / deviation for each channel; one number serves all channels.
struct Normalization {
  std::vector<double> mean = {0};
  std::vector<double> deviation = {1};
};

// Immutable, so that every thread may use one at once.
class Transform {
 public:
  virtual ~Transform() = default;

  // Appends what is to be done to a picture of that size. Everything random comes from `random`. Throws SampleError for
  // a picture that the transform is not possible for.
  virtual void draw(ImageSize size, RandomStream& random, std::vector<Operation>& operations) const = 0;

  // Of what comes out for a picture of that size, and of so many channels.
  virtual ImageSize output_size(ImageSize size) const { return size; }
  virtual int output_channels(int channels) const { return channels; }

  // Set by `normalize` alone, which draws nothing.
  virtual std::optional<Normalization> normalization() const { return std::nullopt; }

  // Whether it works on the numbers after normalization and not on pixels.
  virtual bool after_normalization() const { return false; }

  // Whether all that it ever does is to move pixels, to put black or a fixed color in their place, or to normalize
  // them: what a DeviceLoader can do.
  virtual bool suits_devices() const { return false; }
};

using TransformPtr = std::shared_ptr<const Transform>;
using Transforms = std::vector<TransformPtr>;

// Each of these throws UsageError for options that make no sense, with the value found.

struct Range {
  double low = 0, high = 0;
};

struct RandomResizedCropOptions {
  ImageSize size;
  Range scale = {0.08, 1.0};             // the crop's part of the picture's area
  Range ratio = {3.0 / 4.0, 4.0 / 3.0};  // its width / height
};
TransformPtr random_resized_crop(const RandomResizedCropOptions& options);

// The shorter side becomes `shorter`, the other in proportion; or the size is exact.
TransformPtr resize(int shorter);
TransformPtr resize(ImageSize size);

// A picture that is smaller is padded with black first.
TransformPtr center_crop(ImageSize size);

struct Padding {
  int left = 0, top = 0, right = 0, bottom = 0;
};

struct PadOptions {
  Padding padding;
  Fill fill{};
  PadMode mode = PadMode::kConstant;
};
TransformPtr pad(const PadOptions& options);

struct RandomCropOptions {
  ImageSize size;
  Padding padding;  // comes before the crop
  Fill fill{};
  PadMode mode = PadMode::kConstant;
};
TransformPtr random_crop(const RandomCropOptions& options);

TransformPtr random_horizontal_flip(double probability = 0.5);
TransformPtr random_vertical_flip(double probability = 0.5);

struct RandomRotationOptions {
  Range degrees;
  Interpolation interpolation = Interpolation::kNearest;
  Fill fill{};
};
TransformPtr random_rotation(const RandomRotationOptions& options);

// Factors are drawn from these ranges; what is left out is not changed. The four are done in random order.
struct ColorJitterOptions {
  std::optional<Range> brightness, contrast, saturation, hue;
};
TransformPtr color_jitter(const ColorJitterOptions& options);

// One channel, or three that are equal.
TransformPtr grayscale(int channels = 1);

// Comes after all that works on pixels. Without it a pipeline divides by 255, as torchvision's ToTensor does.
TransformPtr normalize(const Normalization& normalization);

struct RandomErasingOptions {
  double probability = 0.5;
  Range scale = {0.02, 0.33};  // of the picture's area
  Range ratio = {0.3, 3.3};    // height / width
  std::vector<double> value = {0};
  bool noise = false;  // normal noise in place of `value`
};
TransformPtr random_erasing(const RandomErasingOptions& options);

enum class AugmentPolicy { kImageNet, kCifar10, kSvhn };

struct AutoAugmentOptions {
  AugmentPolicy policy = AugmentPolicy::kImageNet;
  Interpolation interpolation = Interpolation::kNearest;
  Fill fill{};
};
TransformPtr auto_augment(const AutoAugmentOptions& options);

struct RandAugmentOptions {
  int operations = 2;
  int magnitude = 9;
  int bins = 31;  // how many magnitudes there are
  Interpolation interpolation = Interpolation::kNearest;
  Fill fill{};
};
TransformPtr rand_augment(const RandAugmentOptions& options);

struct TrivialAugmentOptions {
  int bins = 31;
  Interpolation interpolation = Interpolation::kNearest;
  Fill fill{};
};
TransformPtr trivial_augment_wide(const TrivialAugmentOptions& options);

}  // namespace lockstep::data

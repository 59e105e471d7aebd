#include <lockstep/data/make_transform.h>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "parameter_reader.h"

namespace lockstep::data {
namespace {

// Each reads all parameters that its transform has; what is left out keeps torchvision's default.
using Options = ParameterReader;
using Maker = TransformPtr (*)(Options&);

TransformPtr make_auto_augment(Options& options) {
  const auto policy = options.text("policy", {"imagenet", "cifar10", "svhn"}).value_or("imagenet");
  AutoAugmentOptions made;
  if (policy == "cifar10") made.policy = AugmentPolicy::kCifar10;
  if (policy == "svhn") made.policy = AugmentPolicy::kSvhn;
  made.interpolation = options.interpolation("interpolation");
  made.fill = options.fill("fill");
  return auto_augment(made);
}

TransformPtr make_center_crop(Options& options) {
  return center_crop(options.required_size("size"));
}

TransformPtr make_color_jitter(Options& options) {
  return color_jitter({.brightness = options.range("brightness", 1, 0),
                       .contrast = options.range("contrast", 1, 0),
                       .saturation = options.range("saturation", 1, 0),
                       .hue = options.range("hue", 0, -1)});
}

TransformPtr make_grayscale(Options& options) {
  return grayscale(options.integer("num_output_channels").value_or(1));
}

TransformPtr make_normalize(Options& options) {
  const auto mean = options.numbers("mean", {1, 3}), deviation = options.numbers("std", {1, 3});
  if (!mean) options.refuse("mean", "1 or 3 numbers");
  if (!deviation) options.refuse("std", "1 or 3 numbers");
  return normalize({.mean = *mean, .deviation = *deviation});
}

TransformPtr make_pad(Options& options) {
  return pad(
      {.padding = options.padding("padding"), .fill = options.fill("fill"), .mode = options.pad_mode("padding_mode")});
}

TransformPtr make_rand_augment(Options& options) {
  RandAugmentOptions made;
  made.operations = options.integer("num_ops").value_or(made.operations);
  made.magnitude = options.integer("magnitude").value_or(made.magnitude);
  made.bins = options.integer("num_magnitude_bins").value_or(made.bins);
  made.interpolation = options.interpolation("interpolation");
  made.fill = options.fill("fill");
  return rand_augment(made);
}

TransformPtr make_random_crop(Options& options) {
  return random_crop({.size = options.required_size("size"),
                      .padding = options.padding("padding"),
                      .fill = options.fill("fill"),
                      .mode = options.pad_mode("padding_mode")});
}

TransformPtr make_random_erasing(Options& options) {
  RandomErasingOptions made;
  made.probability = options.number("p").value_or(made.probability);
  made.scale = options.pair("scale").value_or(made.scale);
  made.ratio = options.pair("ratio").value_or(made.ratio);
  made.noise = options.is_text("value");
  if (made.noise) {
    options.text("value", {"random"});
  } else {
    made.value = options.numbers("value", {1, 3}).value_or(made.value);
  }
  return random_erasing(made);
}

TransformPtr make_random_horizontal_flip(Options& options) {
  return random_horizontal_flip(options.number("p").value_or(0.5));
}

TransformPtr make_random_resized_crop(Options& options) {
  RandomResizedCropOptions made{.size = options.required_size("size")};
  made.scale = options.pair("scale").value_or(made.scale);
  made.ratio = options.pair("ratio").value_or(made.ratio);
  return random_resized_crop(made);
}

TransformPtr make_random_rotation(Options& options) {
  constexpr double kFullCircle = 360;
  const auto degrees = options.range("degrees", 0, -kFullCircle);
  if (!degrees) options.refuse("degrees", "a number, or the two ends of a range");
  return random_rotation(
      {.degrees = *degrees, .interpolation = options.interpolation("interpolation"), .fill = options.fill("fill")});
}

TransformPtr make_random_vertical_flip(Options& options) {
  return random_vertical_flip(options.number("p").value_or(0.5));
}

TransformPtr make_resize(Options& options) {
  const auto numbers = options.numbers("size", {1, 2});
  const ImageSize size = options.required_size("size");
  return numbers->size() == 1 ? resize(size.width) : resize(size);
}

TransformPtr make_trivial_augment_wide(Options& options) {
  TrivialAugmentOptions made;
  made.bins = options.integer("num_magnitude_bins").value_or(made.bins);
  made.interpolation = options.interpolation("interpolation");
  made.fill = options.fill("fill");
  return trivial_augment_wide(made);
}

const std::map<std::string, Maker, std::less<>>& makers() {
  static const std::map<std::string, Maker, std::less<>> table = {
      {"auto_augment", make_auto_augment},
      {"center_crop", make_center_crop},
      {"color_jitter", make_color_jitter},
      {"grayscale", make_grayscale},
      {"normalize", make_normalize},
      {"pad", make_pad},
      {"rand_augment", make_rand_augment},
      {"random_crop", make_random_crop},
      {"random_erasing", make_random_erasing},
      {"random_horizontal_flip", make_random_horizontal_flip},
      {"random_resized_crop", make_random_resized_crop},
      {"random_rotation", make_random_rotation},
      {"random_vertical_flip", make_random_vertical_flip},
      {"resize", make_resize},
      {"trivial_augment_wide", make_trivial_augment_wide},
  };
  return table;
}

}  // namespace

const std::vector<std::string>& transform_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [name, maker] : makers()) all.push_back(name);
    return all;
  }();
  return names;
}

TransformPtr make_transform(std::string_view name, const TransformParameters& parameters) {
  const auto maker = makers().find(name);
  if (maker == makers().end()) {
    throw UsageError(
        {.message = fmt::format("there is no transform '{}'{}", name, did_you_mean(name, transform_names())),
         .expected = fmt::format("{}", fmt::join(transform_names(), ", "))});
  }
  ParameterReader options(name, parameters);
  TransformPtr transform = maker->second(options);
  options.require_no_others();
  return transform;
}

}  // namespace lockstep::data

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/augmentation.h>
#include <lockstep/data/make_transform.h>
#include <lockstep/data/pipeline.h>

#include "sources_parts.h"

namespace lockstep::train {
namespace {

using data::Split;

// What `make` returns; its errors begin with the line of the config.
auto at_place(const config::Place& place, const char* key, const auto& make) {
  try {
    return make();
  } catch (const UsageError& error) {
    ErrorParts parts = error.parts();
    const std::string line = place.text();
    parts.message = fmt::format("{}{}: {}", line.empty() ? "" : line + ": ", key, parts.message);
    throw UsageError(std::move(parts));
  }
}

// Pictures that are gray by themselves stay so for a model that takes gray ones.
void keep_gray(data::Transforms& transforms, bool gray) {
  int channels = 3;
  for (const data::TransformPtr& transform : transforms) channels = transform->output_channels(channels);
  if (gray && channels != 1) transforms.insert(transforms.begin(), data::grayscale());
}

data::Transforms make_list(const std::vector<config::Named>& list, const char* key, bool gray) {
  data::Transforms transforms;
  if (list.empty()) return transforms;
  for (const config::Named& named : list) {
    transforms.push_back(
        at_place(named.place, key, [&] { return data::make_transform(named.name, named.parameters); }));
  }
  keep_gray(transforms, gray);
  at_place(list.front().place, key, [&] { return data::Pipeline(transforms); });  // their order makes sense
  return transforms;
}

void normalize_as(data::Transforms& transforms, const data::Transforms& others) {
  const auto normalizes = [](const data::TransformPtr& transform) { return transform->normalization().has_value(); };
  std::erase_if(transforms, normalizes);
  std::copy_if(others.begin(), others.end(), std::back_inserter(transforms), normalizes);
}

[[noreturn]] void refuse_pictures(const std::string& found, const std::string& expected, const std::string& next) {
  throw UsageError({.message = "the pictures are not what the model takes, and no transforms make them so",
                    .found = found,
                    .expected = expected,
                    .next = next});
}

void require_fitting(const PictureKind& pictures, int channels, data::ImageSize size) {
  if (pictures.channels != 0 && pictures.channels != channels) {
    const auto name = [](int count) { return count == 1 ? "gray" : "color"; };
    refuse_pictures(name(pictures.channels), name(channels),
                    fmt::format("put 'grayscale: {{num_output_channels: {}}}' into data.transforms and "
                                "data.test_transforms{}",
                                channels, channels == 3 ? ", or set model.input_channels to 1" : ""));
  }
  // The usual transforms of ImageNet bring pictures of any size to that of the model; those of small ones do not.
  const data::ImageSize made =
      data::Pipeline(data::usual_transforms(channels, size, Split::kTest)).output_size(pictures.size);
  if (made == size) return;
  refuse_pictures(fmt::format("{} x {} pixels", made.width, made.height),
                  fmt::format("{} x {}", size.width, size.height),
                  fmt::format("put 'resize: {{size: [{}, {}]}}' into data.transforms and data.test_transforms, or take "
                              "another stem of the model",
                              size.height, size.width));
}

}  // namespace

ChosenTransforms choose_transforms(const DataKeys& keys, const std::vector<std::int64_t>& shape,
                                   const PictureKind& pictures) {
  const int channels = static_cast<int>(shape[0]);
  const data::ImageSize size{.width = static_cast<int>(shape[2]), .height = static_cast<int>(shape[1])};
  const bool gray = channels == 1 && pictures.channels == 1;
  ChosenTransforms chosen{.train = make_list(keys.transforms, "data.transforms", gray),
                          .test = make_list(keys.test_transforms, "data.test_transforms", gray)};
  if (keys.transforms.empty()) {
    require_fitting(pictures, channels, size);
    chosen.train = data::usual_transforms(channels, size, Split::kTrain);
  }
  if (keys.test_transforms.empty()) {
    chosen.test = data::usual_transforms(channels, size, Split::kTest);
    normalize_as(chosen.test, chosen.train);
  }
  return chosen;
}

}  // namespace lockstep::train

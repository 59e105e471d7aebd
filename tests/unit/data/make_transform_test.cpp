#include <lockstep/data/make_transform.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

namespace lockstep::data {
namespace {

using ::testing::HasSubstr;
using Numbers = std::vector<double>;

std::string refusal(std::string_view name, const TransformParameters& parameters) {
  try {
    make_transform(name, parameters);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

template <typename Kind>
Kind drawn(const TransformPtr& transform, ImageSize size) {
  std::vector<Operation> operations;
  RandomStream random(1, 2, 3);
  transform->draw(size, random, operations);
  return std::get<Kind>(operations.at(0));
}

TEST(MakeTransform, SizeIsOneNumberOrHeightAndWidth) {
  EXPECT_EQ(make_transform("center_crop", {{"size", Numbers{20}}})->output_size({9, 9}), (ImageSize{20, 20}));
  EXPECT_EQ(make_transform("random_crop", {{"size", Numbers{10, 20}}})->output_size({9, 9}), (ImageSize{20, 10}));
  EXPECT_EQ(make_transform("resize", {{"size", Numbers{10}}})->output_size({40, 20}), (ImageSize{20, 10}));
  EXPECT_EQ(make_transform("resize", {{"size", Numbers{10, 10}}})->output_size({40, 20}), (ImageSize{10, 10}));
}

TEST(MakeTransform, PaddingFollowsTorchvision) {
  const auto region = [](const Numbers& padding) {
    return drawn<Crop>(make_transform("pad", {{"padding", padding}}), {10, 10}).region;
  };
  EXPECT_EQ(region({2}), (Region{-2, -2, 14, 14}));
  EXPECT_EQ(region({1, 3}), (Region{-1, -3, 12, 16}));
  EXPECT_EQ(region({1, 2, 3, 4}), (Region{-1, -2, 14, 16}));
}

TEST(MakeTransform, ValuesReachTheTransform) {
  const Crop crop = drawn<Crop>(
      make_transform(
          "random_crop",
          {{"size", Numbers{12}}, {"padding", Numbers{1}}, {"fill", Numbers{7, 8, 9}}, {"padding_mode", "reflect"}}),
      {10, 10});
  EXPECT_EQ(crop.mode, PadMode::kReflect);
  EXPECT_EQ(crop.fill, (Fill{7, 8, 9}));
  const auto rotation =
      make_transform("random_rotation", {{"degrees", Numbers{15, 15}}, {"interpolation", "bilinear"}});
  EXPECT_EQ(drawn<Rotate>(rotation, {9, 9}).degrees, 15);
  EXPECT_EQ(drawn<Rotate>(rotation, {9, 9}).interpolation, Interpolation::kBilinear);
  EXPECT_EQ(drawn<Brightness>(make_transform("color_jitter", {{"brightness", Numbers{2, 2}}}), {9, 9}).factor, 2);
  EXPECT_TRUE(drawn<Erase>(make_transform("random_erasing", {{"p", Numbers{1}}, {"value", "random"}}), {40, 40}).noise);
  EXPECT_EQ(make_transform("grayscale", {{"num_output_channels", Numbers{3}}})->output_channels(3), 3);
  const auto normalization = make_transform("normalize", {{"mean", Numbers{0.5}}, {"std", Numbers{1, 2, 3}}});
  EXPECT_EQ(normalization->normalization()->deviation, (Numbers{1, 2, 3}));
}

TEST(MakeTransform, EveryNameIsKnownToItself) {
  for (const std::string& name : transform_names())
    EXPECT_THAT(refusal(name, {{"nothing", Numbers{1}}}), HasSubstr(name));
  for (const char* name : {"auto_augment", "rand_augment", "trivial_augment_wide", "random_vertical_flip"}) {
    EXPECT_NE(make_transform(name), nullptr);
  }
}

TEST(MakeTransform, NearMissesAreNamed) {
  EXPECT_THAT(refusal("random_resize_crop", {}), HasSubstr("did you mean 'random_resized_crop'?"));
  EXPECT_THAT(refusal("random_crop", {{"size", Numbers{4}}, {"pading", Numbers{4}}}),
              HasSubstr("did you mean 'padding'?"));
  EXPECT_THAT(refusal("auto_augment", {{"policy", "imagnet"}}), HasSubstr("did you mean 'imagenet'?"));
}

TEST(MakeTransform, ValuesOfTheWrongKindAreRefused) {
  EXPECT_THAT(refusal("resize", {}), HasSubstr("'size'"));
  EXPECT_THAT(refusal("resize", {{"size", "large"}}), HasSubstr("'large'"));
  EXPECT_THAT(refusal("resize", {{"size", Numbers{1, 2, 3}}}), HasSubstr("1 or 2 of them"));
  EXPECT_THAT(refusal("resize", {{"size", Numbers{1.5}}}), HasSubstr("whole numbers"));
  EXPECT_THAT(refusal("pad", {{"padding", Numbers{1}}, {"fill", Numbers{256}}}), HasSubstr("0 to 255"));
  EXPECT_THAT(refusal("normalize", {{"mean", Numbers{0}}}), HasSubstr("'std'"));
  EXPECT_THAT(refusal("color_jitter", {{"hue", Numbers{0.7}}}), HasSubstr("hue"));
  EXPECT_THAT(refusal("random_erasing", {{"value", "noise"}}), HasSubstr("random"));
}

}  // namespace
}  // namespace lockstep::data

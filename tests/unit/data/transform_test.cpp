// What transforms draw: always possible, and with the frequencies that are promised. The bounds are five deviations
// wide, and the streams are fixed, so that no run fails by chance.
#include <lockstep/data/transform.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include <lockstep/data/picture.h>

namespace lockstep::data {
namespace {

constexpr int kDraws = 4000;

std::vector<Operation> drawn(const TransformPtr& transform, ImageSize size, std::uint64_t sample) {
  std::vector<Operation> operations;
  RandomStream random(11, 2, sample);
  transform->draw(size, random, operations);
  return operations;
}

// The first operation of each of many draws, which must be of that kind.
template <typename Kind>
std::vector<Kind> many(const TransformPtr& transform, ImageSize size) {
  std::vector<Kind> all;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const auto operations = drawn(transform, size, i);
    if (!operations.empty()) all.push_back(std::get<Kind>(operations.front()));
  }
  return all;
}

template <typename Kind, typename Value>
double mean_of(const std::vector<Kind>& all, const Value& value) {
  double sum = 0;
  for (const Kind& one : all) sum += value(one);
  return sum / static_cast<double>(all.size());
}

TEST(RandomResizedCrop, StaysInThePictureAndInItsRanges) {
  const ImageSize size{500, 375};
  const auto crops = many<Crop>(random_resized_crop({.size = {224, 224}}), size);
  for (const Crop& crop : crops) {
    const Region& region = crop.region;
    ASSERT_GE(region.left, 0);
    ASSERT_GE(region.top, 0);
    ASSERT_LE(region.left + region.width, size.width);
    ASSERT_LE(region.top + region.height, size.height);
    const double ratio = static_cast<double>(region.width) / region.height;
    ASSERT_GT(ratio, 0.73);
    ASSERT_LT(ratio, 1.36);
  }
  // Not the middles of the ranges, because large crops often do not fit: what 40,000 draws of torchvision have.
  const auto part = [](const Crop& crop) { return crop.region.width * crop.region.height / 187500.0; };
  const auto ratio = [](const Crop& crop) { return static_cast<double>(crop.region.width) / crop.region.height; };
  EXPECT_NEAR(mean_of(crops, part), 0.434, 0.018);
  EXPECT_NEAR(mean_of(crops, ratio), 1.046, 0.014);
}

TEST(RandomResizedCrop, TakesTheMiddleOfAPictureThatIsTooLong) {
  const auto operations = drawn(random_resized_crop({.size = {8, 8}, .scale = {0.9, 1}}), {1000, 10}, 0);
  const Region region = std::get<Crop>(operations.at(0)).region;
  EXPECT_EQ(region, (Region{493, 0, 13, 10}));
  EXPECT_EQ(std::get<Scale>(operations.at(1)).size, (ImageSize{8, 8}));
}

TEST(Resize, ShorterSideGetsTheSizeAndTheOtherIsCutOff) {
  EXPECT_EQ(resize(256)->output_size({500, 375}), (ImageSize{341, 256}));
  EXPECT_EQ(resize(256)->output_size({375, 500}), (ImageSize{256, 341}));
  EXPECT_EQ(resize({10, 20})->output_size({375, 500}), (ImageSize{10, 20}));
}

TEST(Resize, RefusesAPictureThatWouldBecomeEndless) {
  EXPECT_THROW(resize(256)->output_size({60'000, 1}), SampleError);
}

TEST(CenterCrop, RoundsHalfAPixelToEvenAndPadsTheEndWithTheOddOne) {
  const auto region = [](ImageSize size, ImageSize crop) {
    return std::get<Crop>(drawn(center_crop(crop), size, 0).at(0)).region;
  };
  EXPECT_EQ(region({341, 256}, {224, 224}), (Region{58, 16, 224, 224}));
  EXPECT_EQ(region({7, 5}, {4, 4}), (Region{2, 0, 4, 4}));
  EXPECT_EQ(region({3, 4}, {6, 6}), (Region{-1, -1, 6, 6}));
}

TEST(RandomCrop, ReachesEveryPlaceAboutEquallyOften) {
  const auto crops = many<Crop>(random_crop({.size = {32, 32}, .padding = {4, 4, 4, 4}}), {32, 32});
  std::map<std::pair<int, int>, int> places;
  for (const Crop& crop : crops) ++places[{crop.region.left, crop.region.top}];
  EXPECT_EQ(places.size(), 81U);
  for (const auto& [place, count] : places) {
    EXPECT_LE(std::abs(place.first), 4);
    EXPECT_LE(std::abs(place.second), 4);
    EXPECT_NEAR(count, kDraws / 81.0, 5 * std::sqrt(kDraws / 81.0));
  }
}

TEST(RandomCrop, RefusesAPictureThatIsTooSmall) {
  EXPECT_THROW(drawn(random_crop({.size = {32, 32}}), {31, 40}, 0), SampleError);
}

TEST(RandomFlip, HappensAsOftenAsAsked) {
  const auto share = [](const TransformPtr& transform) {
    return static_cast<double>(many<Flip>(transform, {8, 8}).size()) / kDraws;
  };
  EXPECT_NEAR(share(random_horizontal_flip()), 0.5, 0.04);
  EXPECT_NEAR(share(random_vertical_flip(0.1)), 0.1, 0.025);
  EXPECT_EQ(share(random_horizontal_flip(0)), 0);
  EXPECT_EQ(share(random_horizontal_flip(1)), 1);
}

TEST(RandomRotation, CoversItsRange) {
  const auto turns = many<Rotate>(random_rotation({.degrees = {-10, 30}}), {8, 8});
  const auto [least, most] = std::minmax_element(
      turns.begin(), turns.end(), [](const Rotate& a, const Rotate& b) { return a.degrees < b.degrees; });
  EXPECT_GE(least->degrees, -10);
  EXPECT_LT(least->degrees, -9.8);
  EXPECT_LE(most->degrees, 30);
  EXPECT_GT(most->degrees, 29.8);
  EXPECT_NEAR(mean_of(turns, [](const Rotate& turn) { return turn.degrees; }), 10, 1);
}

TEST(ColorJitter, DoesWhatIsAskedInEveryOrder) {
  const auto transform = color_jitter({.brightness = Range{0.5, 1.5}, .contrast = Range{1, 2}, .hue = Range{-0.1, 0}});
  std::map<std::vector<std::size_t>, int> orders;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    std::vector<std::size_t> order;
    for (const Operation& operation : drawn(transform, {8, 8}, i)) order.push_back(operation.index());
    ++orders[order];
  }
  EXPECT_EQ(orders.size(), 6U);
  for (const auto& [order, count] : orders) {
    EXPECT_EQ(order.size(), 3U);
    EXPECT_NEAR(count, kDraws / 6.0, 5 * std::sqrt(kDraws / 6.0));
  }
}

TEST(RandomErasing, LeavesSomeOfThePictureInBothDirections) {
  const ImageSize size{64, 48};
  const auto erased = many<Erase>(random_erasing({.probability = 0.25}), size);
  EXPECT_NEAR(static_cast<double>(erased.size()) / kDraws, 0.25, 0.035);
  for (const Erase& one : erased) {
    ASSERT_LT(one.region.width, size.width);
    ASSERT_LT(one.region.height, size.height);
    ASSERT_GE(std::min(one.region.left, one.region.top), 0);
    ASSERT_LE(one.region.left + one.region.width, size.width);
    ASSERT_LE(one.region.top + one.region.height, size.height);
  }
  const double part = mean_of(erased, [](const Erase& one) { return one.region.width * one.region.height / 3072.0; });
  EXPECT_NEAR(part, 0.175, 0.03);
}

TEST(RandAugment, DrawsEveryKindAboutEquallyOften) {
  std::map<std::size_t, int> kinds;
  int nothing = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const auto operations = drawn(rand_augment({.operations = 1}), {32, 32}, i);
    operations.empty() ? ++nothing : ++kinds[operations.front().index()];
  }
  const double each = kDraws / 14.0, bound = 5 * std::sqrt(each);
  EXPECT_NEAR(nothing, each, bound);
  EXPECT_EQ(kinds.size(), 11U);  // shears and translations are two kinds each
  for (const auto& [kind, count] : kinds) {
    const bool twice = kind == Operation(Shear{}).index() || kind == Operation(Translate{}).index();
    EXPECT_NEAR(count, twice ? 2 * each : each, twice ? 2 * bound : bound);
  }
}

TEST(TrivialAugmentWide, DrawsEveryMagnitudeOfBothSigns) {
  std::set<double> degrees;
  for (std::uint64_t i = 0; i < 4 * kDraws; ++i) {
    const auto operations = drawn(trivial_augment_wide({}), {32, 32}, i);
    ASSERT_LE(operations.size(), 1U);
    if (operations.empty()) continue;
    if (const auto* rotate = std::get_if<Rotate>(&operations.front())) degrees.insert(rotate->degrees);
  }
  EXPECT_EQ(degrees.size(), 61U);
  EXPECT_EQ(*degrees.begin(), -135);
  EXPECT_EQ(*degrees.rbegin(), 135);
}

TEST(AutoAugment, DoesAtMostTwoThingsAndSometimesNone) {
  for (const AugmentPolicy policy : {AugmentPolicy::kImageNet, AugmentPolicy::kCifar10, AugmentPolicy::kSvhn}) {
    std::map<std::size_t, int> lengths;
    for (std::uint64_t i = 0; i < kDraws; ++i) ++lengths[drawn(auto_augment({.policy = policy}), {32, 32}, i).size()];
    EXPECT_EQ(lengths.size(), 3U);
    EXPECT_GT(lengths[2], lengths[0]);
  }
}

TEST(Transforms, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_THROW(resize(0), UsageError);
  EXPECT_THROW(center_crop({4, -1}), UsageError);
  EXPECT_THROW(random_horizontal_flip(1.5), UsageError);
  EXPECT_THROW(random_resized_crop({.size = {8, 8}, .scale = {0.9, 0.1}}), UsageError);
  EXPECT_THROW(random_resized_crop({.size = {8, 8}, .ratio = {0, 1}}), UsageError);
  EXPECT_THROW(random_crop({.size = {8, 8}, .padding = {-1, 0, 0, 0}}), UsageError);
  EXPECT_THROW(random_rotation({.degrees = {NAN, 1}}), UsageError);
  EXPECT_THROW(color_jitter({.hue = Range{-0.6, 0}}), UsageError);
  EXPECT_THROW(grayscale(2), UsageError);
  EXPECT_THROW(normalize({.mean = {0, 0}, .deviation = {1}}), UsageError);
  EXPECT_THROW(normalize({.mean = {0}, .deviation = {0}}), UsageError);
  EXPECT_THROW(random_erasing({.value = {}}), UsageError);
  EXPECT_THROW(rand_augment({.magnitude = 31}), UsageError);
  EXPECT_THROW(trivial_augment_wide({.bins = 0}), UsageError);
}

}  // namespace
}  // namespace lockstep::data

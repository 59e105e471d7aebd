// Sets in memory: MNIST's files as pictures, and pictures that are made up.
#include <lockstep/data/pixel_set.h>

#include <set>

#include <gmock/gmock.h>

#include <lockstep/data/mnist_pictures.h>
#include <lockstep/data/synthetic.h>

#include "source_path.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;

PixelSetContent two_pictures() {
  return {.width = 2,
          .height = 1,
          .channels = 1,
          .pixels = {1, 2, 3, 4},
          .labels = {1, 0},
          .classes = {"cat", "dog"},
          .origins = {{.file = "a", .first = 0}, {.file = "b", .first = 1}}};
}

std::vector<int> bytes(const Picture& picture) {
  std::vector<int> result;
  for (const std::byte byte : picture.bytes) result.push_back(std::to_integer<int>(byte));
  return result;
}

TEST(PixelSet, GivesViewsOfItsPictures) {
  const PixelSet set(two_pictures());
  EXPECT_EQ(set.size(), 2);
  const Picture picture = set.get(1);
  EXPECT_EQ(picture.form, Picture::Form::kPixels);
  EXPECT_THAT(bytes(picture), ::testing::ElementsAre(3, 4));
  EXPECT_EQ(picture.width, 2);
  EXPECT_EQ(picture.label, 0);
  EXPECT_EQ(set.name(0), "a, image 0");
  EXPECT_EQ(set.name(1), "b, image 0");
}

TEST(PixelSet, RefusesPartsThatDoNotFit) {
  PixelSetContent content = two_pictures();
  content.labels = {0};
  EXPECT_THAT([&] { const PixelSet set(content); }, ThrowsWith<UsageError>("labels do not fit"));
  content = two_pictures();
  content.labels = {0, 2};
  EXPECT_THAT([&] { const PixelSet set(content); }, ThrowsWith<UsageError>("b, image 0 has a label that is no class"));
  content.width = 0;
  EXPECT_THAT([&] { const PixelSet set(content); }, ThrowsWith<UsageError>("no pixels"));
  const PixelSet set(two_pictures());
  EXPECT_THROW(set.get(2), UsageError);
  EXPECT_THROW(set.get(-1), UsageError);
}

TEST(MnistPictures, AreTheCopyThatComesAlong) {
  const PixelSet test = read_mnist_pictures(test::source_path("data/mnist"), Split::kTest);
  EXPECT_EQ(test.size(), 10000);
  EXPECT_EQ(test.get(0).label, 7);
  EXPECT_EQ(test.get(0).channels, 1);
  EXPECT_EQ(test.get(9999).bytes.size(), 28 * 28);
  EXPECT_EQ(test.classes()[3], "3");
  EXPECT_EQ(fashion_classes().size(), 10);
}

TEST(SyntheticPictures, AreAFunctionOfSeedAndIndex) {
  const SyntheticOptions options{.count = 1000, .width = 5, .height = 3, .channels = 3, .classes = 7, .seed = 4};
  const SyntheticPictures first(options), same(options);
  SyntheticOptions other_seed = options;
  other_seed.seed = 5;
  const SyntheticPictures other(other_seed);
  std::set<std::int64_t> labels;
  int different = 0;
  for (std::int64_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(bytes(first.get(i)), bytes(same.get(i)));
    EXPECT_EQ(first.get(i).label, same.get(i).label);
    different += bytes(first.get(i)) != bytes(other.get(i)) ? 1 : 0;
    labels.insert(first.get(i).label);
  }
  EXPECT_EQ(different, 1000);
  EXPECT_EQ(labels.size(), 7);
  EXPECT_NE(bytes(first.get(0)), bytes(first.get(1)));
  EXPECT_EQ(bytes(first.get(0)), bytes(first.get(64)));
}

TEST(SyntheticPictures, TakeLittleMemoryWhateverTheirNumber) {
  const SyntheticPictures many({.count = 1'000'000'000, .width = 2000, .height = 2000});
  EXPECT_EQ(many.get(999'999'999).bytes.size(), 12'000'000);
}

TEST(SyntheticPictures, RefuseWhatMakesNoSense) {
  EXPECT_THROW(SyntheticPictures({.count = 0}), UsageError);
  EXPECT_THROW(SyntheticPictures({.width = 0}), UsageError);
  EXPECT_THROW(SyntheticPictures({.width = 1 << 20, .height = 1 << 20}), UsageError);
  EXPECT_THROW(SyntheticPictures({.classes = 0}), UsageError);
  const SyntheticPictures one({.count = 1});
  EXPECT_THROW(one.get(1), UsageError);
}

}  // namespace
}  // namespace lockstep::data

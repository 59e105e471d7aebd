#include <lockstep/data/augmentation.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/data/picture.h>
#include <lockstep/data/pipeline.h>

#include "throws_with.h"

namespace lockstep::data {
namespace {

// Of what becomes of a picture of 500 x 375 pixels.
ImageSize made(const Transforms& transforms) {
  return Pipeline(transforms).output_size({.width = 500, .height = 375});
}

double first_mean(const Transforms& transforms) {
  return transforms.back()->normalization()->mean.front();
}

TEST(Augmentation, ImageNetPicturesComeOutInTheSizeOfTheModel) {
  for (const ImageSize size : {ImageSize{224, 224}, ImageSize{299, 299}, ImageSize{160, 96}}) {
    for (const Split split : {Split::kTrain, Split::kTest}) EXPECT_EQ(made(usual_transforms(3, size, split)), size);
  }
  // The test's pictures are resized to 256 pixels, then cropped.
  EXPECT_EQ(usual_transforms(3, {224, 224}, Split::kTest)[0]->output_size({512, 1024}), (ImageSize{256, 512}));
  EXPECT_EQ(first_mean(usual_transforms(3, {224, 224}, Split::kTest)), 0.485);
}

TEST(Augmentation, SmallPicturesArePaddedAndCroppedInTrainingAlone) {
  const Transforms train = usual_transforms(3, {32, 32}, Split::kTrain),
                   test = usual_transforms(3, {32, 32}, Split::kTest);
  EXPECT_EQ(made(train), (ImageSize{32, 32}));
  EXPECT_EQ(made(test), (ImageSize{500, 375}));
  // One pixel smaller, and no crop would fit into a picture with 4 pixels of padding on each side.
  std::vector<Operation> operations;
  RandomStream random(1, 0, 0);
  train[0]->draw({24, 24}, random, operations);
  EXPECT_THROW(train[0]->draw({23, 23}, random, operations), SampleError);
  EXPECT_EQ(first_mean(train), 0.4914);
  EXPECT_EQ(first_mean(test), 0.4914);
}

TEST(Augmentation, GrayPicturesAreOnlyNormalized) {
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const Transforms transforms = usual_transforms(1, {28, 28}, split);
    EXPECT_EQ(Pipeline(transforms).channels(), 1);
    EXPECT_EQ(made(transforms), (ImageSize{500, 375}));
    EXPECT_EQ(first_mean(transforms), 0.1307);
  }
}

TEST(Augmentation, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_EQ(parse_augmentation("cifar-train"), Augmentation::kCifarTrain);
  EXPECT_THAT([] { parse_augmentation("cifar-tain"); }, test::ThrowsWith<UsageError>("did you mean 'cifar-train'"));
}

}  // namespace
}  // namespace lockstep::data

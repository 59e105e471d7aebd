// The usual transforms of the classic data sets.
#pragma once
#include <string>

#include <lockstep/data/split.h>
#include <lockstep/data/transform.h>

namespace lockstep::data {

// What is done to the pictures: the usual augmentation of ImageNet or of CIFAR, that of their evaluation, or nothing
// but to decode and to divide by 255.
enum class Augmentation { kImageNetTrain, kImageNetTest, kCifarTrain, kCifarTest, kNone };

// UsageError for a name other than imagenet-train, imagenet-test, cifar-train, cifar-test and none.
Augmentation parse_augmentation(const std::string& name);

// `size` is that of what comes out; of kCifarTest and kNone it is that of the pictures.
Transforms make_transforms(Augmentation augmentation, ImageSize size);

// What suits a network that takes pictures of so many channels and that size. For one channel they are those of MNIST:
// gray, and normalized. Small ones, of at most 64 pixels, have those of CIFAR, others those of ImageNet.
Transforms usual_transforms(int channels, ImageSize size, Split split);

}  // namespace lockstep::data

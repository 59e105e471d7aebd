#include <lockstep/data/augmentation.h>

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::data {
namespace {

const std::map<std::string, Augmentation>& augmentations() {
  static const std::map<std::string, Augmentation> names = {{"imagenet-train", Augmentation::kImageNetTrain},
                                                            {"imagenet-test", Augmentation::kImageNetTest},
                                                            {"cifar-train", Augmentation::kCifarTrain},
                                                            {"cifar-test", Augmentation::kCifarTest},
                                                            {"none", Augmentation::kNone}};
  return names;
}

const Normalization kImageNet = {.mean = {0.485, 0.456, 0.406}, .deviation = {0.229, 0.224, 0.225}};
const Normalization kCifar = {.mean = {0.4914, 0.4822, 0.4465}, .deviation = {0.2470, 0.2435, 0.2616}};
const Normalization kMnist = {.mean = {0.1307}, .deviation = {0.3081}};

}  // namespace

Augmentation parse_augmentation(const std::string& name) {
  const auto found = augmentations().find(name);
  if (found != augmentations().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, value] : augmentations()) names.push_back(known);
  throw UsageError({.message = fmt::format("there is no augmentation '{}'{}", name, did_you_mean(name, names)),
                    .expected = format_some(names, names.size())});
}

Transforms make_transforms(Augmentation augmentation, ImageSize size) {
  const int side = std::max(size.width, size.height);
  const int padding = side / 8;  // 4 of CIFAR's 32
  switch (augmentation) {
    case Augmentation::kImageNetTrain:
      return {random_resized_crop({.size = size}), random_horizontal_flip(), normalize(kImageNet)};
    case Augmentation::kImageNetTest:
      return {resize(side * 8 / 7), center_crop(size), normalize(kImageNet)};
    case Augmentation::kCifarTrain:
      return {random_crop({.size = size, .padding = {padding, padding, padding, padding}}), random_horizontal_flip(),
              normalize(kCifar)};
    case Augmentation::kCifarTest:
      return {normalize(kCifar)};
    case Augmentation::kNone:
      break;
  }
  return {};
}

Transforms usual_transforms(int channels, ImageSize size, Split split) {
  if (channels == 1) return {grayscale(), normalize(kMnist)};
  constexpr int kSmall = 64;
  const bool train = split == Split::kTrain;
  if (std::max(size.width, size.height) <= kSmall) {
    return make_transforms(train ? Augmentation::kCifarTrain : Augmentation::kCifarTest, size);
  }
  return make_transforms(train ? Augmentation::kImageNetTrain : Augmentation::kImageNetTest, size);
}

}  // namespace lockstep::data

#include <lockstep/data/mnist_pictures.h>

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/data/idx.h>

namespace lockstep::data {
namespace {

constexpr int kSide = 28;

std::filesystem::path with_or_without_gz(const std::filesystem::path& plain) {
  std::filesystem::path compressed = plain;
  compressed += ".gz";
  std::error_code ignored;
  return std::filesystem::exists(plain, ignored) && !std::filesystem::exists(compressed, ignored) ? plain : compressed;
}

}  // namespace

std::vector<std::string> digits() {
  return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
}

std::vector<std::string> fashion_classes() {
  return {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};
}

PixelSet read_mnist_pictures(const std::filesystem::path& folder, Split split, std::vector<std::string> classes) {
  const std::string prefix = split == Split::kTrain ? "train" : "t10k";
  const auto image_path = with_or_without_gz(folder / (prefix + "-images-idx3-ubyte"));
  const auto label_path = with_or_without_gz(folder / (prefix + "-labels-idx1-ubyte"));
  IdxArray images = read_idx(image_path, 3);
  const IdxArray labels = read_idx(label_path, 1);
  if (images.sizes[1] != kSide || images.sizes[2] != kSide) {
    throw UsageError({.message = fmt::format("'{}' does not hold MNIST's images", image_path.string()),
                      .found = fmt::format("{} x {} pixels", images.sizes[1], images.sizes[2]),
                      .expected = fmt::format("{} x {}", kSide, kSide)});
  }
  if (images.sizes[0] != labels.sizes[0]) {
    throw UsageError({.message = fmt::format("'{}' does not belong to its images", label_path.string()),
                      .found = fmt::format("{} labels", labels.sizes[0]),
                      .expected = fmt::format("{}, one for each image", images.sizes[0])});
  }
  if (const std::size_t largest = *std::max_element(labels.bytes.begin(), labels.bytes.end());
      largest >= classes.size()) {
    throw UsageError({.message = fmt::format("'{}' has a label that is no class", label_path.string()),
                      .found = std::to_string(largest),
                      .expected = fmt::format("0 to {}", classes.size() - 1)});
  }
  return PixelSet({.width = kSide,
                   .height = kSide,
                   .channels = 1,
                   .pixels = std::move(images.bytes),
                   .labels = {labels.bytes.begin(), labels.bytes.end()},
                   .classes = std::move(classes),
                   .origins = {{.file = image_path.filename().string(), .first = 0}}});
}

}  // namespace lockstep::data

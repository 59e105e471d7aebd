#include <lockstep/data/mnist.h>

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/files.h>
#include <lockstep/data/idx.h>

namespace lockstep::data {
namespace {

constexpr std::int64_t kSide = 28;
constexpr int kClasses = 10;
// Of the 60,000 training images.
constexpr double kMean = 0.1307;
constexpr double kDeviation = 0.3081;

std::filesystem::path with_or_without_gz(const std::filesystem::path& plain) {
  std::filesystem::path compressed = plain;
  compressed += ".gz";
  std::error_code ignored;
  return std::filesystem::exists(plain, ignored) && !std::filesystem::exists(compressed, ignored) ? plain : compressed;
}

at::Tensor copy_to_tensor(const IdxArray& array, at::IntArrayRef sizes) {
  at::Tensor tensor = at::empty(sizes, at::kByte);
  std::copy(array.bytes.begin(), array.bytes.end(), tensor.mutable_data_ptr<std::uint8_t>());
  return tensor;
}

}  // namespace

at::Tensor Mnist::normalized(const at::Tensor& indices) const {
  return images.index_select(0, indices).to(at::kFloat).div_(255).sub_(kMean).div_(kDeviation);
}

Mnist read_mnist(const std::filesystem::path& folder, Split split) {
  const std::string prefix = split == Split::kTrain ? "train" : "t10k";
  const auto image_path = with_or_without_gz(folder / (prefix + "-images-idx3-ubyte"));
  const auto label_path = with_or_without_gz(folder / (prefix + "-labels-idx1-ubyte"));
  const IdxArray images = read_idx(image_path, 3);
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
  if (const int largest = *std::max_element(labels.bytes.begin(), labels.bytes.end()); largest >= kClasses) {
    throw UsageError({.message = fmt::format("'{}' has a label that is no digit", label_path.string()),
                      .found = std::to_string(largest),
                      .expected = "0 to 9"});
  }
  return {.images = copy_to_tensor(images, {images.sizes[0], 1, kSide, kSide}),
          .labels = copy_to_tensor(labels, labels.sizes).to(at::kLong)};
}

std::filesystem::path default_mnist_folder() {
  if (const auto folder = env::get("LOCKSTEP_DATA_DIR")) return std::filesystem::path(*folder) / "mnist";
  return files::installation_folder() / "share/lockstep/data/mnist";
}

}  // namespace lockstep::data

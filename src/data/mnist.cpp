#include <lockstep/data/mnist.h>

#include <lockstep/base/environment.h>
#include <lockstep/base/files.h>
#include <lockstep/data/mnist_pictures.h>

#include "copy_to_tensor.h"

namespace lockstep::data {
namespace {

// Of the 60,000 training images.
constexpr double kMean = 0.1307;
constexpr double kDeviation = 0.3081;

}  // namespace

at::Tensor Mnist::normalized(const at::Tensor& indices) const {
  return images.index_select(0, indices).to(at::kFloat).div_(255).sub_(kMean).div_(kDeviation);
}

Mnist read_mnist(const std::filesystem::path& folder, Split split) {
  const PixelSet pictures = read_mnist_pictures(folder, split);
  return {.images = copy_to_tensor(pictures.pixels(), {pictures.size(), 1, pictures.height(), pictures.width()}),
          .labels = copy_to_tensor(pictures.labels(), {pictures.size()})};
}

std::filesystem::path default_mnist_folder() {
  if (const auto folder = env::get("LOCKSTEP_DATA_DIR")) return std::filesystem::path(*folder) / "mnist";
  return files::installation_folder() / "share/lockstep/data/mnist";
}

}  // namespace lockstep::data

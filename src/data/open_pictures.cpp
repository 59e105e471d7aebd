#include <lockstep/data/open_pictures.h>

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include <lockstep/base/text.h>
#include <lockstep/data/cifar.h>
#include <lockstep/data/image_folder.h>
#include <lockstep/data/mnist_pictures.h>
#include <lockstep/data/packed.h>

#include "numbers.h"

namespace lockstep::data {
namespace {

constexpr std::string_view kSynthetic = "synthetic:";

std::int64_t number_or_zero(std::string_view text) {
  return number_in<std::int64_t>(text).value_or(0);
}

// "synthetic:WIDTHxHEIGHT[:COUNT]".
std::unique_ptr<PictureSet> make_up(const std::string& text, SyntheticOptions options) {
  const auto parts = split(std::string_view(text).substr(kSynthetic.size()), ':');
  const auto sides = split(parts[0], 'x');
  const std::int64_t width = number_or_zero(sides[0]), height = sides.size() == 2 ? number_or_zero(sides[1]) : 0;
  const std::int64_t count = parts.size() == 2 ? number_or_zero(parts[1]) : options.count;
  constexpr std::int64_t kLongestSide = 1 << 20;
  if (parts.size() > 2 || count < 1 || std::min(width, height) < 1 || std::max(width, height) > kLongestSide) {
    throw UsageError({.message = "synthetic pictures need a size",
                      .found = "'" + text + "'",
                      .expected = "synthetic:WIDTHxHEIGHT or synthetic:WIDTHxHEIGHT:COUNT"});
  }
  options.count = count;
  options.width = static_cast<int>(width);
  options.height = static_cast<int>(height);
  return std::make_unique<SyntheticPictures>(options);
}

bool has_any(const std::filesystem::path& folder, std::initializer_list<const char*> names) {
  std::error_code ignored;
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return std::filesystem::exists(folder / name, ignored); });
}

enum class Kind { kCifar10, kCifar100, kMnist, kClassFolders };

Kind kind_of(const std::filesystem::path& folder) {
  if (has_any(folder, {"cifar-10-batches-bin", "cifar-10-batches-py", "data_batch_1.bin", "data_batch_1"})) {
    return Kind::kCifar10;
  }
  // Folders called meta and train might be those of classes.
  std::error_code ignored;
  const bool python = std::filesystem::is_regular_file(folder / "meta", ignored) &&
                      std::filesystem::is_regular_file(folder / "train", ignored);
  if (python || has_any(folder, {"cifar-100-binary", "cifar-100-python", "fine_label_names.txt"})) {
    return Kind::kCifar100;
  }
  if (has_any(folder, {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"})) return Kind::kMnist;
  return Kind::kClassFolders;
}

std::unique_ptr<PictureSet> open_folder(const std::filesystem::path& path, Split split) {
  switch (kind_of(path)) {
    case Kind::kCifar10:
      return std::make_unique<PixelSet>(read_cifar10(path, split));
    case Kind::kCifar100:
      return std::make_unique<PixelSet>(read_cifar100(path, split));
    case Kind::kMnist:
      return std::make_unique<PixelSet>(read_mnist_pictures(path, split));
    default:
      return std::make_unique<ImageFolder>(path);
  }
}

}  // namespace

bool has_splits(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) && kind_of(path) != Kind::kClassFolders;
}

bool is_synthetic(const std::filesystem::path& path) {
  return path.native().starts_with(kSynthetic);
}

std::unique_ptr<PictureSet> open_pictures(const std::filesystem::path& path, Split split,
                                          const SyntheticOptions& made_up) {
  if (is_synthetic(path)) return make_up(path.native(), made_up);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw UsageError({.message = fmt::format("there is no data set '{}'", path.string()),
                      .found = error ? error.message() : "",
                      .next = "check the path"});
  }
  if (std::filesystem::is_directory(status)) return open_folder(path, split);
  if (path.extension() == ".lsp") return std::make_unique<PackedSet>(path);
  throw UsageError({.message = fmt::format("'{}' is no data set of pictures", path.string()),
                    .expected = "a packed file, NAME.lsp, or the folder of a data set"});
}

}  // namespace lockstep::data

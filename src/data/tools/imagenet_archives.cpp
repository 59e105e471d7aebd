#include "imagenet_archives.h"

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "imagenet_truth.h"

namespace lockstep::data {
namespace {

constexpr std::uint64_t kLargestPicture = std::uint64_t{256} << 20;

// The class of a part of the train archive, "n01440764.tar".
std::string class_of(const ArchiveEntry& entry) {
  const std::string name = plain_name(entry);
  std::string wnid = name.substr(0, name.find('.'));
  if (!is_wnid(wnid) || name != wnid + ".tar") {
    throw UsageError({.message = "this is not ImageNet's train archive",
                      .found = name,
                      .expected = "a tar for each class, such as n01440764.tar"});
  }
  return wnid;
}

}  // namespace

std::vector<std::string> list_train_classes(const std::filesystem::path& path) {
  Archive archive(path);
  std::vector<std::string> classes;
  while (const auto entry = archive.next()) classes.push_back(class_of(*entry));
  std::sort(classes.begin(), classes.end());
  if (classes.empty()) throw UsageError(fmt::format("'{}' has no classes", path.string()));
  if (const auto twice = std::adjacent_find(classes.begin(), classes.end()); twice != classes.end()) {
    throw UsageError(fmt::format("'{}' has the class {} twice", path.string(), *twice));
  }
  return classes;
}

TrainPictures::TrainPictures(const std::filesystem::path& path, Skip skip) : outer_(path), skip_(std::move(skip)) {}

std::optional<std::string> TrainPictures::next_class() {
  inner_.reset();
  while (const auto entry = outer_.next()) {
    wnid_ = class_of(*entry);
    if (skip_ && skip_(wnid_)) continue;
    inner_.emplace(outer_, *entry);
    return wnid_;
  }
  return std::nullopt;
}

std::optional<ImagenetPicture> TrainPictures::next_of_class() {
  const auto entry = inner_ ? inner_->next() : std::nullopt;
  if (!entry) return std::nullopt;
  return ImagenetPicture{.wnid = wnid_, .name = plain_name(*entry), .bytes = inner_->read(*entry, kLargestPicture)};
}

std::optional<ImagenetPicture> TrainPictures::next() {
  do {
    if (auto picture = next_of_class()) return picture;
  } while (next_class());
  return std::nullopt;
}

std::optional<ImagenetPicture> ValidationPictures::next() {
  const auto entry = archive_.next();
  if (!entry) {
    const auto missing = std::find(seen_.begin(), seen_.end(), false);
    if (missing == seen_.end()) return std::nullopt;
    throw UsageError({.message = "the validation archive and its ground truth do not fit",
                      .found = fmt::format("no picture {}", missing - seen_.begin() + 1),
                      .expected = fmt::format("pictures 1 to {}", seen_.size()),
                      .next = "compare the archive's size and checksum with where it came from"});
  }
  const std::string name = plain_name(*entry);
  const std::size_t number = validation_number(name);
  if (number > truth_.size() || seen_[number - 1]) {
    throw UsageError({.message = "the validation archive and its ground truth do not fit",
                      .found = name,
                      .expected = fmt::format("pictures 1 to {}, each once", truth_.size())});
  }
  seen_[number - 1] = true;
  return ImagenetPicture{.wnid = truth_[number - 1], .name = name, .bytes = archive_.read(*entry, kLargestPicture)};
}

}  // namespace lockstep::data

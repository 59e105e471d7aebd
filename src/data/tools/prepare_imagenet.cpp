#include <lockstep/data/tools/prepare_imagenet.h>

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include <lockstep/base/files.h>

#include "../../base/folder_lock.h"
#include "class_folders.h"
#include "imagenet_archives.h"
#include "imagenet_truth.h"

namespace lockstep::data {
namespace {

using Classes = std::vector<std::string>;
using NextPicture = std::function<std::optional<ImagenetPicture>()>;

// Progress with the split's name.
PackProgress for_split(const std::string& split, const PrepareProgress& progress) {
  if (!progress) return {};
  return [=](std::int64_t done, std::int64_t total, std::uint64_t bytes) { progress(split, done, total, bytes); };
}

std::int64_t label_of(const Classes& classes, const std::string& wnid) {
  const auto found = std::lower_bound(classes.begin(), classes.end(), wnid);
  if (found == classes.end() || *found != wnid) {
    throw UsageError({.message = "a validation picture is of a class that the train archive does not have",
                      .found = wnid,
                      .next = "check that the archives belong together"});
  }
  return found - classes.begin();
}

PackItem item_of(ImagenetPicture&& picture, const Classes& classes) {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(picture.bytes));
  const std::int64_t label = label_of(classes, picture.wnid);
  return {.name = picture.wnid + "/" + picture.name,
          .load = [=] { return Picture{.bytes = *bytes, .owner = bytes, .label = label}; }};
}

// What a run that goes on must find again.
std::string digest_of(const std::filesystem::path& archive, const Classes& classes, const Classes& truth) {
  return files::sha256(fmt::format("imagenet {} {} {}", std::filesystem::file_size(archive), fmt::join(classes, " "),
                                   fmt::join(truth, " ")));
}

PreparedSplit pack_split(const std::filesystem::path& target, const NextPicture& next, std::int64_t total,
                         const Classes& classes, const std::string& source, const PackOptions& options,
                         const PackProgress& progress) {
  PreparedSplit split{.path = target, .classes = std::ssize(classes)};
  const auto next_item = [&]() -> std::optional<PackItem> {
    auto picture = next();
    if (!picture) return std::nullopt;
    return item_of(std::move(*picture), classes);
  };
  split.packed = pack(next_item, total, classes, source, target, options, progress);
  split.pictures = split.packed.samples;
  return split;
}

PreparedSplit train_folders(const std::filesystem::path& archive, const std::filesystem::path& target,
                            const Classes& classes, const PackProgress& progress) {
  PreparedSplit split{.path = target, .classes = std::ssize(classes)};
  std::uint64_t bytes = 0;
  TrainPictures pictures(archive, [&](const std::string& name) {
    const bool there = std::filesystem::exists(target / name);
    split.classes_there += there ? 1 : 0;
    return there;
  });
  while (const auto wnid = pictures.next_class()) {
    FolderInMaking folder(target / *wnid);
    while (const auto picture = pictures.next_of_class()) {
      folder.write(picture->name, picture->bytes);
      bytes += picture->bytes.size();
      ++split.pictures;
      if (progress) progress(split.pictures, 0, bytes);
    }
    folder.finish();
  }
  return split;
}

PreparedSplit validation_folders(const NextPicture& next, std::int64_t total, const std::filesystem::path& target,
                                 const PackProgress& progress) {
  PreparedSplit split{.path = target};
  FolderInMaking folder(target);
  std::set<std::string> classes;
  std::uint64_t bytes = 0;
  while (const auto picture = next()) {
    folder.write(std::filesystem::path(picture->wnid) / picture->name, picture->bytes);
    classes.insert(picture->wnid);
    bytes += picture->bytes.size();
    ++split.pictures;
    if (progress) progress(split.pictures, total, bytes);
  }
  folder.finish();
  split.classes = std::ssize(classes);
  return split;
}

PreparedSplit prepare_train(const std::filesystem::path& archive, const std::filesystem::path& folder,
                            const Classes& classes, const PrepareOptions& options, const PackProgress& progress) {
  if (!options.pack) return train_folders(archive, folder / "train", classes, progress);
  TrainPictures pictures(archive);
  return pack_split(
      folder / "train.lsp", [&] { return pictures.next(); }, 0, classes, digest_of(archive, classes, {}), *options.pack,
      progress);
}

PreparedSplit prepare_validation(const ImagenetArchives& archives, const std::filesystem::path& folder, Classes classes,
                                 const PrepareOptions& options, const PackProgress& progress) {
  const Classes truth = read_imagenet_truth(archives.truth, archives.synsets);
  if (classes.empty()) {
    const std::set<std::string> different(truth.begin(), truth.end());
    classes.assign(different.begin(), different.end());
  }
  ValidationPictures pictures(archives.val, truth);
  const auto next = [&] { return pictures.next(); };
  if (!options.pack) return validation_folders(next, std::ssize(truth), folder / "val", progress);
  return pack_split(folder / "val.lsp", next, std::ssize(truth), classes, digest_of(archives.val, classes, truth),
                    *options.pack, progress);
}

// A split whose file or folder is there is complete. Of train's folders each is for itself.
bool is_there(const std::filesystem::path& path, const PrepareOptions& options) {
  return std::filesystem::exists(path) && !(options.pack && options.pack->replace);
}

void check_arguments(const ImagenetArchives& archives) {
  if (archives.train.empty() && archives.val.empty()) {
    throw UsageError({.message = "no archive was given", .expected = "--train, or --val with --truth, or all of them"});
  }
  if (!archives.val.empty() && archives.truth.empty()) {
    throw UsageError({.message = "the validation archive does not say which class its pictures are of",
                      .next = "give --truth ILSVRC2012_devkit_t12.tar.gz, which comes from the same place"});
  }
}

}  // namespace

PrepareResult prepare_imagenet(const ImagenetArchives& archives, const std::filesystem::path& folder,
                               const PrepareOptions& options, const PrepareProgress& progress) {
  check_arguments(archives);
  std::filesystem::create_directories(folder);
  const FolderLock lock(folder, options.lock_timeout);
  PrepareResult result;
  Classes classes;
  if (!archives.train.empty()) {
    classes = list_train_classes(archives.train);
    const std::filesystem::path packed = folder / "train.lsp";
    result.train = options.pack && is_there(packed, options)
                       ? PreparedSplit{.path = packed, .classes = std::ssize(classes), .was_there = true}
                       : prepare_train(archives.train, folder, classes, options, for_split("train", progress));
  }
  if (!archives.val.empty()) {
    const std::filesystem::path target = folder / (options.pack ? "val.lsp" : "val");
    result.val = is_there(target, options)
                     ? PreparedSplit{.path = target, .was_there = true}
                     : prepare_validation(archives, folder, classes, options, for_split("val", progress));
  }
  return result;
}

}  // namespace lockstep::data

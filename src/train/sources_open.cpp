// Finding and opening what a config calls its data.
#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>
#include <lockstep/data/fetch_once.h>
#include <lockstep/data/mnist.h>
#include <lockstep/data/open_pictures.h>
#include <lockstep/train/sources.h>

#include "sources_parts.h"
#include "together.h"

namespace lockstep::train {
namespace {

using data::PictureSet;
using data::Split;
using Path = std::filesystem::path;

bool is_there(const Path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool is_folder(const Path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

// Nothing in it that counts, or no folder at all.
bool holds_nothing(const Path& path) {
  std::error_code ignored;
  return !is_there(path) || (is_folder(path) && std::filesystem::is_empty(path, ignored));
}

// A class may be called "train" too: its pictures lie in it, where a part of a data set has folders.
bool holds_folders(const Path& folder) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (is_folder(entry->path())) return true;
  }
  return false;
}

bool is_part(const Path& path) {
  return path.extension() == ".lsp" ? is_there(path) : holds_folders(path);
}

std::optional<Path> find_part(const Path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (const char* extension : {"", ".lsp"}) {
      const Path part = folder / (std::string(name) + extension);
      if (is_part(part)) return part;
    }
  }
  return std::nullopt;
}

// A first part of the two makes a folder one that has parts.
bool has_parts(const Path& folder) {
  return is_folder(folder) && !data::has_splits(folder) && find_part(folder, {"train"});
}

std::unique_ptr<PictureSet> open_part(const Path& path, Split split) {
  if (!has_parts(path)) return data::open_pictures(path, split);
  if (split == Split::kTrain) return data::open_pictures(*find_part(path, {"train"}));
  // ImageNet's own test pictures have no labels, so what is called val comes first.
  const auto part = find_part(path, {"val", "test"});
  return part ? data::open_pictures(*part) : nullptr;
}

Path path_of(const DataKeys& keys) {
  if (keys.path == "mnist" && !is_there(keys.path)) return data::default_mnist_folder();
  return keys.path;
}

void require_named(const DataKeys& keys) {
  if (!keys.path.empty()) return;
  throw UsageError({.message = "the config does not say what to train on",
                    .next = "give --data PATH, or data.path in the config; 'synthetic' trains on random numbers"});
}

// `next` is how to name another.
void require_there(const Path& path, const char* key, const char* next) {
  if (!holds_nothing(path)) return;
  throw UsageError({.message = is_there(path) ? fmt::format("the folder '{}' is empty", path.string())
                                              : fmt::format("there is no data set '{}'", path.string()),
                    .expected = fmt::format("a packed file, or the folder of a data set ({})", key),
                    .next = next});
}

std::unique_ptr<PictureSet> open_test(const DataKeys& keys, const Path& path) {
  if (keys.test_path.empty()) {
    return data::has_splits(path) || has_parts(path) ? open_part(path, Split::kTest) : nullptr;
  }
  require_there(keys.test_path, "data.test_path", "give another by --set data.test_path=PATH, or leave it out");
  auto test = open_part(keys.test_path, Split::kTest);
  if (test) return test;
  throw UsageError({.message = fmt::format("there is nothing to test with in '{}'", keys.test_path),
                    .found = "a part to train on, and no other",
                    .expected = "a folder val or test, or val.lsp or test.lsp (data.test_path)",
                    .next = "name a folder that has a folder for each class, or leave data.test_path out"});
}

std::string described(const std::shared_ptr<const PictureSet>& set) {
  return set ? fmt::format("{} pictures of {} classes", format_count(set->size()), set->classes().size()) : "nothing";
}

void require_same_classes(const PictureSet& train, const PictureSet& test) {
  const auto &ours = train.classes(), &theirs = test.classes();
  if (ours == theirs) return;
  const auto [mine, other] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
  const auto name = [](auto place, const auto& list) {
    return place == list.end() ? std::string("none") : "'" + *place + "'";
  };
  throw UsageError(
      {.message = "the test data has other classes than the training data",
       .found = fmt::format("{} classes; class {} is {}", theirs.size(), mine - ours.begin(), name(other, theirs)),
       .expected = fmt::format("{} classes; class {} is {}", ours.size(), mine - ours.begin(), name(mine, ours)),
       .next = "let both have a folder for each class, with the same names"});
}

void fetch_if_missing(const DataKeys& keys, const Path& path, const Group& group) {
  if (!keys.fetch) return;
  // Rank 0 decides: to bring the data is for all ranks together.
  if (group.broadcast_text(holds_nothing(path) ? "missing" : "there") == "there") return;
  const std::string name =
      keys.set.empty() ? (path.has_filename() ? path : path.parent_path()).filename().string() : keys.set;
  data::fetch_once(group, name, path);
}

// Throws on every rank when one of them found something else than the others.
void require_same(const Group& group, const std::string& found) {
  const std::vector<std::string> all = group.all_gather_text(found);
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::string& other = all[static_cast<std::size_t>(rank)];
    if (other == found) continue;
    throw UsageError({.message = fmt::format("rank {} does not find the data that rank {} finds", rank, group.rank()),
                      .found = other,
                      .expected = found,
                      .next = "let every node have the same data under the same path"});
  }
}

}  // namespace

OpenedData::OpenedData(const DataKeys& keys, const Group& group) {
  require_named(keys);
  if (keys.path == kRandomNumbers || data::is_synthetic(keys.path)) {
    if (!keys.test_path.empty()) {
      throw UsageError({.message = "data that is made up has test data of its own",
                        .found = fmt::format("'{}'", keys.test_path),
                        .next = "leave data.test_path out"});
    }
    return;
  }
  const Path path = path_of(keys);
  fetch_if_missing(keys, path, group);
  together(group, [&] {
    require_there(path, "data.path",
                  "give another by --data PATH, or let --set data.fetch=true bring one that 'lockstep data fetch "
                  "--list' has");
    train_ = some_pictures(open_part(path, Split::kTrain), keys.samples);
    test_ = open_test(keys, path);
    if (!test_) return;
    require_same_classes(*train_, *test_);
    test_ = some_pictures(std::move(test_), keys.samples);
  });
  require_same(group, fmt::format("{} to train on, {} to test with", described(train_), described(test_)));
}

const std::vector<std::string>& OpenedData::class_names() const {
  static const std::vector<std::string> none;
  return train_ ? train_->classes() : none;
}

}  // namespace lockstep::train

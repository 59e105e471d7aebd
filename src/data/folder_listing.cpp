#include "folder_listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/base/text.h>

namespace lockstep::data {
namespace {

// Deeper than any data set, and less than what the stack and a path hold.
constexpr std::size_t kDeepest = 64;

bool ends_with_any(std::string_view name, std::span<const std::string_view> extensions) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::any_of(extensions.begin(), extensions.end(), [&](std::string_view extension) {
    return name.size() >= extension.size() &&
           std::equal(extension.begin(), extension.end(), name.end() - std::ssize(extension),
                      [&](char a, char b) { return a == lower(b); });
  });
}

bool is_picture(std::string_view name) {
  constexpr std::array<std::string_view, 3> kExtensions = {".jpg", ".jpeg", ".png"};
  return ends_with_any(name, kExtensions);
}

// What torchvision would take as well.
bool is_other_picture(std::string_view name) {
  constexpr std::array<std::string_view, 6> kExtensions = {".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"};
  return ends_with_any(name, kExtensions);
}

// One folder's content: names one after another in one string, so that a million files are no million allocations.
struct Content {
  struct Name {
    std::size_t start, size;
  };
  std::string text;
  std::vector<Name> files;
  std::vector<std::pair<std::string, bool>> folders;  // with whether it is reached by a link

  std::vector<std::string_view> sorted_files() const {
    std::vector<std::string_view> names;
    names.reserve(files.size());
    for (const Name& name : files) names.push_back(std::string_view(text).substr(name.start, name.size));
    std::sort(names.begin(), names.end());
    return names;
  }
};

bool is_folder(int parent, const char* name) {
  struct stat info {};
  return ::fstatat(parent, name, &info, 0) == 0 && S_ISDIR(info.st_mode);
}

UsageError unreadable(const std::filesystem::path& path, int error_number) {
  return UsageError(
      {.message = fmt::format("cannot read the folder '{}': {}", path.string(), std::strerror(error_number)),
       .next = "check the path and its permissions"});
}

class Reader {
 public:
  // Its folders, and those of its files that are pictures by their names.
  Content read(const std::filesystem::path& path) {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), &::closedir);
    if (folder == nullptr) throw unreadable(path, errno);
    Content content;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(folder.get());
      if (entry == nullptr && errno != 0) throw unreadable(path, errno);
      if (entry == nullptr) return content;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      // Only a link, and a file system that does not tell the kind, cost a look at the file itself.
      const bool unclear = entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
      if (entry->d_type == DT_DIR || (unclear && is_folder(::dirfd(folder.get()), entry->d_name))) {
        content.folders.emplace_back(name, unclear);
      } else if (is_picture(name)) {
        content.files.push_back({content.text.size(), name.size()});
        content.text += name;
      } else if (is_other_picture(name)) {
        ++ignored_;
        if (first_ignored_.empty()) first_ignored_ = path / name;
      }
    }
  }

  void say_what_was_ignored() const {
    if (ignored_ == 0) return;
    log::warning("{} of a kind that is not read, only JPEG and PNG are; the first is '{}'",
                 format_plural(ignored_, "picture"), first_ignored_.string());
  }

 private:
  std::int64_t ignored_ = 0;
  std::filesystem::path first_ignored_;
};

// The folders of one class, in the order in which they were met.
class Walk {
 public:
  Walk(const std::filesystem::path& root, Reader& reader, const FolderListing::LinkCheck& check_link)
      : root_(root), reader_(reader), check_link_(check_link) {}

  void enter(const std::string& path, bool by_link) {
    if (by_link) check_link_(root_ / path);
    remember_place(path);
    Content content = reader_.read(root_ / path);
    const auto folders = std::move(content.folders);
    found_.emplace_back(path, std::move(content));
    for (const auto& [name, is_link] : folders) enter(fmt::format("{}/{}", path, name), is_link);
    above_.pop_back();
  }

  // Sorted by the whole path as os.walk's results are: "cat-b" comes before "cat/b".
  std::vector<std::pair<std::string, Content>> take() {
    std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return std::move(found_);
  }

 private:
  // A link to a folder above would be walked for ever.
  void remember_place(const std::string& path) {
    struct stat info {};
    const std::filesystem::path whole = root_ / path;
    if (::stat(whole.c_str(), &info) != 0) throw unreadable(whole, errno);
    const std::pair place(info.st_dev, info.st_ino);
    if (std::find(above_.begin(), above_.end(), place) != above_.end()) {
      throw UsageError({.message = fmt::format("'{}' leads back to a folder that it lies in", whole.string()),
                        .next = "remove that link"});
    }
    if (above_.size() == kDeepest) {
      throw UsageError({.message = fmt::format("'{}' lies too deep", whole.string()),
                        .expected = fmt::format("at most {} folders in one another", kDeepest)});
    }
    above_.push_back(place);
  }

  const std::filesystem::path& root_;
  Reader& reader_;
  const FolderListing::LinkCheck& check_link_;
  std::vector<std::pair<dev_t, ino_t>> above_;
  std::vector<std::pair<std::string, Content>> found_;
};

}  // namespace

FolderListing::FolderListing(const std::filesystem::path& root, const LinkCheck& check_link) {
  Reader reader;
  auto class_folders = reader.read(root).folders;
  if (class_folders.empty()) {
    throw UsageError({.message = fmt::format("'{}' has no folder for any class", root.string()),
                      .expected = "pictures as <class>/<name>.jpg or .png in it",
                      .next = "check the path"});
  }
  std::sort(class_folders.begin(), class_folders.end());
  std::vector<std::string> empty;
  for (const auto& [name, by_link] : class_folders) {
    Walk walk(root, reader, check_link);
    walk.enter(name, by_link);
    const std::int64_t before = size();
    for (const auto& [path, content] : walk.take()) {
      auto names = content.sorted_files();
      add_folder(path, std::ssize(classes_), names);
    }
    if (size() == before) empty.push_back("'" + name + "'");
    classes_.push_back(name);
  }
  reader.say_what_was_ignored();
  if (!empty.empty()) {
    throw UsageError({.message = fmt::format("'{}' has classes without pictures", root.string()),
                      .found = format_some(empty, 8),
                      .expected = "at least one .jpg, .jpeg or .png file in each folder",
                      .next = "remove the empty folders, or bring their files"});
  }
  names_.shrink_to_fit();
  starts_.shrink_to_fit();
}

void FolderListing::add_folder(const std::string& path, std::int64_t label, std::vector<std::string_view>& names) {
  if (names.empty()) return;
  folders_.push_back({.first = size(), .label = label, .path = path});
  for (const std::string_view name : names) {
    if (names_.size() + name.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw UsageError({.message = "the names of the files are too long together",
                        .expected = "at most 4 GiB",
                        .next = "divide the data set"});
    }
    starts_.push_back(static_cast<std::uint32_t>(names_.size()));
    names_ += name;
  }
}

const FolderListing::Folder& FolderListing::folder_of(std::int64_t index) const {
  const auto next = std::upper_bound(folders_.begin(), folders_.end(), index,
                                     [](std::int64_t value, const Folder& folder) { return value < folder.first; });
  return *std::prev(next);
}

std::string FolderListing::path(std::int64_t index) const {
  const auto at = static_cast<std::size_t>(index);
  const std::size_t end = at + 1 < starts_.size() ? starts_[at + 1] : names_.size();
  return folder_of(index).path + "/" + names_.substr(starts_[at], end - starts_[at]);
}

}  // namespace lockstep::data

// Which files an ImageFolder has: names only, nothing is opened.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

class FolderListing {
 public:
  // Whether a folder that a link leads to may be entered; throws when not.
  using LinkCheck = std::function<void(const std::filesystem::path& link)>;

  FolderListing(const std::filesystem::path& root, const LinkCheck& check_link);

  std::int64_t size() const { return static_cast<std::int64_t>(starts_.size()); }
  std::int64_t label(std::int64_t index) const { return folder_of(index).label; }

  // Below the root: "cat/0012.jpg".
  std::string path(std::int64_t index) const;

  const std::vector<std::string>& classes() const { return classes_; }

 private:
  // The samples from `first` to the next folder's lie in it.
  struct Folder {
    std::int64_t first = 0;
    std::int64_t label = 0;
    std::string path;  // below the root: "cat" or "cat/deeper"
  };

  void add_folder(const std::string& path, std::int64_t label, std::vector<std::string_view>& names);
  const Folder& folder_of(std::int64_t index) const;

  std::vector<std::string> classes_;
  std::vector<Folder> folders_;
  std::string names_;                  // of all files, one after another
  std::vector<std::uint32_t> starts_;  // where each begins in it
};

}  // namespace lockstep::data

// The data sets that can be fetched: their files, where these lie, and how to know that they are whole.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

struct RemoteFile {
  std::string name;
  std::uint64_t size = 0;
  // "sha256:HEX", or "md5:HEX" where its authors published no other: that finds damage, but no forger.
  std::string digest;
  std::vector<std::string> urls;  // whole ones, in the order in which they are tried
};

// A set is its files; or, when `folder` is not empty, what the one archive among them unpacks to.
struct RemoteSet {
  struct Part {
    std::string name, digest;
  };

  std::string name, title;
  std::vector<RemoteFile> files;
  std::string folder;
  std::vector<Part> contents;  // files that the folder must hold; it may hold others
};

// mnist, fashion-mnist, cifar10 and cifar100.
std::vector<RemoteSet> built_in_sets();

// Sets of one's own, from a JSON file: {"sets": [{"name", "title", "folder", "contents": [{"name", "digest"}], "files":
// [{"name", "size", "digest", "urls"}]}]}, where folder, contents and title may be missing. Throws UsageError for
// anything else, and for names that would leave the folder.
std::vector<RemoteSet> read_catalog(const std::filesystem::path& path);

// Whether a name is that of a file in the same folder: not empty, not hidden, no way to another folder, and printable.
bool is_plain_name(std::string_view name);

}  // namespace lockstep::data

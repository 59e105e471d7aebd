#include <lockstep/data/tools/fetch.h>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include <fmt/format.h>

#include <lockstep/base/fd.h>
#include <lockstep/base/files.h>

#include "../../base/folder_lock.h"
#include "digest.h"
#include "unpack.h"

namespace lockstep::data {
namespace {

using State = DownloadResult::State;
// How often a mirror that breaks off is asked, and how often when it gives nothing.
constexpr int kMaxTries = 20, kMaxVainTries = 2;
constexpr auto kBeforeNextTry = std::chrono::milliseconds(500);

// One set on its way into one folder.
class Fetcher {
 public:
  Fetcher(const RemoteSet& set, const std::filesystem::path& folder, const FetchOptions& options)
      : set_(set), folder_(folder), options_(options) {}

  bool is_there() const {
    if (set_.folder.empty()) return missing().empty();
    if (!std::filesystem::is_directory(folder_ / set_.folder)) return false;
    check_contents(folder_ / set_.folder);
    return true;
  }

  void run() {
    std::vector<std::filesystem::path> downloaded;
    for (const RemoteFile& file : missing()) {
      bring(file);
      downloaded.push_back(folder_ / file.name);
    }
    if (set_.folder.empty()) return;
    unpack();
    for (const std::filesystem::path& archive : downloaded) std::filesystem::remove(archive);
  }

 private:
  // Those that are there are looked at: what is damaged must not be trained with.
  std::vector<RemoteFile> missing() const {
    std::vector<RemoteFile> result;
    for (const RemoteFile& file : set_.files) {
      const std::filesystem::path path = folder_ / file.name;
      if (!std::filesystem::exists(path)) {
        result.push_back(file);
        continue;
      }
      if (const std::uint64_t size = std::filesystem::file_size(path); size != file.size) {
        throw damaged(path, fmt::format("{} bytes", size), std::to_string(file.size));
      }
      check_digest(path, file.digest);
    }
    return result;
  }

  static RuntimeError damaged(const std::filesystem::path& path, std::string found, std::string expected) {
    return RuntimeError({.message = fmt::format("'{}' is not the file it should be", path.string()),
                         .found = std::move(found),
                         .expected = std::move(expected),
                         .next = "remove it and run the command again"});
  }

  static void check_digest(const std::filesystem::path& path, const std::string& expected) {
    if (std::string found = digest_of_file(path, expected); found != expected) {
      throw damaged(path, std::move(found), expected);
    }
  }

  void check_contents(const std::filesystem::path& folder) const {
    for (const RemoteSet::Part& part : set_.contents) {
      if (!std::filesystem::exists(folder / part.name)) {
        throw RuntimeError({.message = fmt::format("'{}' is not there", (folder / part.name).string()),
                            .next = fmt::format("remove '{}' and run the command again", folder.string())});
      }
      check_digest(folder / part.name, part.digest);
    }
  }

  void bring(const RemoteFile& file) const {
    const std::filesystem::path partial = folder_ / (file.name + ".partial");
    std::vector<std::string> problems;
    DownloadOptions download_options = options_.download;
    download_options.allow_http = true;
    for (const std::string& mirror : options_.mirrors) {
      const std::string url = fmt::format("{}{}{}", mirror, mirror.ends_with('/') ? "" : "/", file.name);
      if (bring_from(url, file, partial, download_options, problems)) return;
    }
    download_options.allow_http = options_.download.allow_http;
    for (const std::string& url : file.urls) {
      if (bring_from(url, file, partial, download_options, problems)) return;
    }
    if (size_of(partial) == 0) discard_download(partial);
    throw FetchError({.message = fmt::format("cannot download '{}'", file.name),
                      .found = fmt::format("{}", fmt::join(problems, "; ")),
                      .next = fmt::format("where the network can be reached, get the missing files, bring them into "
                                          "'{}', and run the command again",
                                          folder_.string())},
                     missing());
  }

  bool bring_from(const std::string& url, const RemoteFile& file, const std::filesystem::path& partial,
                  const DownloadOptions& download_options, std::vector<std::string>& problems) const {
    std::uint64_t before = size_of(partial);
    bool all_from_here = before == 0;
    std::string problem = "breaks off again and again";
    for (int tries = 0, vain = 0; tries < kMaxTries; ++tries) {
      const DownloadResult result = download(url, partial, file.size, download_options,
                                             [&](std::uint64_t done) { options_.progress(file, done); });
      if (result.state == State::kDone) {
        if (digest_of_file(partial, file.digest) == file.digest) {
          keep(partial, folder_ / file.name);
          return true;
        }
        discard_download(partial);
        problem = "has other content than was published";
        // With a beginning from another time or place, the whole may still be right here.
        if (all_from_here) break;
        all_from_here = true;
        before = 0;
        continue;
      }
      problem = result.problem;
      const std::uint64_t now = size_of(partial);
      vain = now > before ? 0 : vain + 1;
      if (result.state == State::kFailed || vain == kMaxVainTries) break;
      before = now;
      std::this_thread::sleep_for(kBeforeNextTry);
    }
    problems.push_back(url + ": " + problem);
    return false;
  }

  static std::uint64_t size_of(const std::filesystem::path& path) {
    std::error_code error;
    const std::uint64_t size = std::filesystem::file_size(path, error);
    return error ? 0 : size;
  }

  void keep(const std::filesystem::path& partial, const std::filesystem::path& target) const {
    const UniqueFd fd(::open(partial.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd || ::fsync(fd.get()) != 0) throw system_error(fmt::format("cannot sync '{}'", partial.string()), errno);
    std::filesystem::rename(partial, target);
    discard_download(partial);
    files::sync_folder(folder_);
  }

  // Under a name of its own until it is whole. Who was killed meanwhile left that name; the lock is ours now.
  void unpack() const {
    const std::filesystem::path half_way = folder_ / fmt::format(".{}.unpacking", set_.folder);
    std::filesystem::remove_all(half_way);
    std::filesystem::create_directory(half_way);
    try {
      unpack_folder(folder_ / set_.files.front().name, set_.folder, half_way);
      check_contents(half_way);
    } catch (...) {
      std::error_code ignored;
      std::filesystem::remove_all(half_way, ignored);
      throw;
    }
    std::filesystem::rename(half_way, folder_ / set_.folder);
    files::sync_folder(folder_);
  }

  const RemoteSet& set_;
  const std::filesystem::path& folder_;
  const FetchOptions& options_;
};

}  // namespace

bool fetch(const RemoteSet& set, const std::filesystem::path& folder, const FetchOptions& options) {
  try {
    Fetcher fetcher(set, folder, options);
    if (fetcher.is_there()) return false;
    std::filesystem::create_directories(folder);
    const FolderLock lock(folder, options.lock_timeout);
    if (fetcher.is_there()) return false;
    fetcher.run();
    return true;
  } catch (const std::filesystem::filesystem_error& error) {
    throw RuntimeError({.message = fmt::format("cannot fetch into '{}': {}", folder.string(), error.code().message()),
                        .found = error.path1().string(),
                        .next = "check that the folder is writable and has room"});
  }
}

}  // namespace lockstep::data

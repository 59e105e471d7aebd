// One file over HTTP, with libcurl.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace lockstep::data {

struct DownloadOptions {
  std::chrono::seconds connect_timeout{5};
  std::chrono::seconds stall_timeout{20};  // with less than 1 KB/s
  int max_redirects = 5;
  bool allow_http = false;  // else only https, also after a redirect
};

struct DownloadResult {
  enum class State {
    kDone,         // the file has the size it should have
    kInterrupted,  // it may go on when asked again
    kFailed,       // asking again would not help
  };
  State state = State::kFailed;
  std::string problem;  // unless done: what went wrong, in a few words
};

// Brings what `url` names into `target`, which may hold its beginning from an earlier time: then only the rest is asked
// for, under the condition that the file is still the one whose beginning this is, if its server has told which one
// that was. `target`.from keeps what it told. A file that has another size than `size` is refused, before its content
// where the server tells it. `progress` is called with the bytes that are there.
//
// Throws RuntimeError when `target` cannot be written.
DownloadResult download(const std::string& url, const std::filesystem::path& target, std::uint64_t size,
                        const DownloadOptions& options, const std::function<void(std::uint64_t)>& progress);

// Removes `target` and what was kept about it.
void discard_download(const std::filesystem::path& target);

}  // namespace lockstep::data

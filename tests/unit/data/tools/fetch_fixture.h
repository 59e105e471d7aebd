// What tests of fetching share: a server, a folder, and a set of one file.
#pragma once
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <lockstep/base/files.h>
#include <lockstep/data/tools/fetch.h>

#include "http_server.h"
#include "temporary_folder.h"

namespace lockstep::data {

inline std::string digest_of(const std::string& content) {
  return "sha256:" + files::sha256(content);
}

class Fetch : public ::testing::Test {
 protected:
  Fetch() {
    options_.download.allow_http = true;
    options_.download.stall_timeout = std::chrono::seconds(1);
    for (int i = 0; i < 50'000; ++i) content_ += std::to_string(i);
  }

  // A set of one file, which the server has under the given paths.
  RemoteSet set(const std::vector<std::string>& paths = {"file"}) const {
    RemoteFile file{.name = "file", .size = content_.size(), .digest = digest_of(content_), .urls = {}};
    for (const std::string& path : paths) file.urls.push_back(server_.address() + "/" + path);
    return {.name = "small", .title = "", .files = {file}, .folder = "", .contents = {}};
  }

  std::vector<std::string> ranges() const {
    std::vector<std::string> result;
    for (const auto& request : server_.requests()) result.push_back(request.range);
    return result;
  }

  std::string error_of(const RemoteSet& wanted) {
    try {
      fetch(wanted, target(), options_);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  const std::filesystem::path& target() const { return folder_.path(); }
  std::string fetched() const { return test::content(target() / "file"); }

  // Only these are left, beside the lock.
  void expect_only(std::vector<std::string> names) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(target())) found.push_back(entry.path().filename());
    names.emplace_back(".lockstep.lock");
    EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(names));
  }

  test::HttpServer server_;
  test::TemporaryFolder folder_;
  FetchOptions options_;
  std::string content_;
};

}  // namespace lockstep::data

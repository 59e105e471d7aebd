// Fetching from a server that has the faults of servers, into a folder that may hold anything.
#include <lockstep/data/tools/fetch.h>

#include <archive.h>
#include <archive_entry.h>

#include <gmock/gmock.h>

#include <lockstep/base/files.h>

#include "http_server.h"
#include "temporary_folder.h"

namespace lockstep::data {
namespace {

using test::HttpServer;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string digest_of(const std::string& content) {
  return "sha256:" + files::sha256(content);
}

// A tar of files of the given names and contents, compressed by gzip.
std::string make_archive(const std::vector<std::pair<std::string, std::string>>& entries) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "archive";
  archive* out = ::archive_write_new();
  ::archive_write_add_filter_gzip(out);
  ::archive_write_set_format_ustar(out);
  ::archive_write_open_filename(out, path.c_str());
  for (const auto& [name, content] : entries) {
    archive_entry* entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, name.c_str());
    ::archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    ::archive_entry_set_filetype(entry, AE_IFREG);
    ::archive_entry_set_perm(entry, 0644);
    ::archive_write_header(out, entry);
    ::archive_write_data(out, content.data(), content.size());
    ::archive_entry_free(entry);
  }
  ::archive_write_close(out);
  ::archive_write_free(out);
  return test::content(path);
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
    names.emplace_back(".lockstep-fetch.lock");
    EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(names));
  }

  HttpServer server_;
  test::TemporaryFolder folder_;
  FetchOptions options_;
  std::string content_;
};

TEST_F(Fetch, BringsAFile_AndTheSecondTimeTouchesNoNetwork) {
  server_.serve("file", {.content = content_});
  EXPECT_TRUE(fetch(set(), target(), options_));
  EXPECT_EQ(fetched(), content_);
  expect_only({"file"});
  EXPECT_FALSE(fetch(set(), target(), options_));
  EXPECT_EQ(server_.requests().size(), 1);
}

TEST_F(Fetch, MakesTheFolderItIsGiven) {
  server_.serve("file", {.content = content_});
  EXPECT_TRUE(fetch(set(), target() / "a/b", options_));
  EXPECT_EQ(test::content(target() / "a/b/file"), content_);
}

TEST_F(Fetch, TellsHowFarItIs) {
  server_.serve("file", {.content = content_});
  std::vector<std::uint64_t> seen;
  options_.progress = [&](const RemoteFile&, std::uint64_t done) { seen.push_back(done); };
  fetch(set(), target(), options_);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), content_.size());
}

TEST_F(Fetch, GoesOnWhereTheConnectionBroke) {
  server_.serve("file", {.content = content_, .tag = "v1", .breaks = 2});
  EXPECT_TRUE(fetch(set(), target(), options_));
  EXPECT_EQ(fetched(), content_);
  ASSERT_EQ(server_.requests().size(), 3);
  EXPECT_EQ(ranges()[0], "");
  EXPECT_EQ(ranges()[1], "bytes=" + std::to_string(content_.size() / 2) + "-");
  EXPECT_EQ(server_.requests()[1].if_range, "\"v1\"");
  expect_only({"file"});
}

TEST_F(Fetch, GoesOnWhereAnEarlierProcessWasKilled) {
  folder_.write("file.partial", content_.substr(0, 1000));
  server_.serve("file", {.content = content_});
  EXPECT_TRUE(fetch(set(), target(), options_));
  EXPECT_EQ(fetched(), content_);
  EXPECT_THAT(ranges(), ::testing::ElementsAre("bytes=1000-"));
}

TEST_F(Fetch, BeginsAnewWhenTheServersFileIsAnother) {
  folder_.write("file.partial", std::string(1000, 'x'));
  folder_.write("file.partial.from", server_.address() + "/file\n\"old\"");
  server_.serve("file", {.content = content_, .tag = "new"});
  EXPECT_TRUE(fetch(set(), target(), options_));
  EXPECT_EQ(fetched(), content_);
  EXPECT_EQ(server_.requests().size(), 1);
}

TEST_F(Fetch, BeginsAnewWhenTheBeginningWasWrong) {
  folder_.write("file.partial", std::string(1000, 'x'));
  server_.serve("file", {.content = content_});
  EXPECT_TRUE(fetch(set(), target(), options_));
  EXPECT_EQ(fetched(), content_);
  EXPECT_THAT(ranges(), ::testing::ElementsAre("bytes=1000-", ""));
}

TEST_F(Fetch, TakesTheWholeFromAServerThatGivesNoParts) {
  folder_.write("file.partial", std::string(1000, 'x'));
  server_.serve("file", {.content = content_, .ranges = false});
  EXPECT_TRUE(fetch(set(), target(), options_));
  EXPECT_EQ(fetched(), content_);
}

TEST_F(Fetch, AsksTheNextMirrorWhenOneFails) {
  std::string other = content_;
  other[7] = '!';
  server_.serve("error", {.status = 500});
  server_.serve("other", {.content = other});
  server_.serve("long", {.content = content_ + "x"});
  server_.serve("short", {.content = content_.substr(1)});
  server_.serve("loop", {.status = 302, .location = server_.address() + "/loop"});
  server_.serve("silent", {.content = content_, .falls_silent = true});
  server_.serve("good", {.content = content_});
  for (const char* bad : {"missing", "error", "other", "long", "short", "loop", "silent"}) {
    std::filesystem::remove(target() / "file");
    EXPECT_TRUE(fetch(set({bad, "good"}), target(), options_)) << bad;
    EXPECT_EQ(fetched(), content_) << bad;
    expect_only({"file"});
  }
}

TEST_F(Fetch, SaysForEachMirrorWhatWentWrong) {
  std::string other = content_;
  other[7] = '!';
  server_.serve("error", {.status = 500});
  server_.serve("other", {.content = other});
  server_.serve("long", {.content = content_ + "x"});
  server_.serve("loop", {.status = 302, .location = server_.address() + "/loop"});
  EXPECT_THAT(error_of(set({"missing"})), HasSubstr("missing: answered with status 404"));
  EXPECT_THAT(error_of(set({"error"})), HasSubstr("error: answered with status 500"));
  EXPECT_THAT(error_of(set({"other"})), HasSubstr("other: has other content than was published"));
  EXPECT_THAT(error_of(set({"long"})), HasSubstr("long: has a file of"));
  EXPECT_THAT(error_of(set({"loop"})), HasSubstr("redirects"));
  EXPECT_FALSE(std::filesystem::exists(target() / "file"));
}

TEST_F(Fetch, RefusesMoreBytesThanWereSaid) {
  server_.serve("file",
                {.content = content_ + content_, .length_error = -static_cast<std::ptrdiff_t>(content_.size())});
  EXPECT_TRUE(fetch(set(), target(), options_));  // libcurl reads no further than the length
  EXPECT_EQ(fetched(), content_);
}

TEST_F(Fetch, FollowsARedirect_ButNotFromHttpsToHttpUnlessAllowed) {
  server_.serve("file", {.status = 302, .location = server_.address() + "/elsewhere"});
  server_.serve("elsewhere", {.content = content_});
  EXPECT_TRUE(fetch(set(), target(), options_));
  options_.download.allow_http = false;
  std::filesystem::remove(target() / "file");
  EXPECT_THAT(error_of(set()), HasSubstr("Protocol \"http\""));
}

TEST_F(Fetch, TriesAMirrorOfTheUsersFirst_AlsoOverHttp) {
  options_.download.allow_http = false;
  options_.mirrors = {server_.address() + "/mirror"};
  server_.serve("mirror/file", {.content = content_});
  EXPECT_TRUE(fetch(set({"missing"}), target(), options_));
  EXPECT_EQ(server_.requests().size(), 1);
}

TEST_F(Fetch, SaysWhichFilesToBringWhenThereIsNoNetwork) {
  RemoteSet wanted = set();
  // A port of loopback that nobody listens on.
  wanted.files[0].urls = {"http://127.0.0.1:1/file"};
  wanted.files.push_back(wanted.files[0]);
  wanted.files[1].name = "second";
  folder_.write("file", content_);
  try {
    fetch(wanted, target(), options_);
    FAIL();
  } catch (const FetchError& error) {
    ASSERT_EQ(error.missing().size(), 1);
    EXPECT_EQ(error.missing()[0].name, "second");
    EXPECT_THAT(error.what(), AllOf(HasSubstr("cannot download 'second'"), HasSubstr(target().string())));
    EXPECT_EQ(error.exit_code(), kExitFailure);
    expect_only({"file"});
  }
}

TEST_F(Fetch, UsesAFileThatWasBrought_AndRefusesADamagedOneWithoutTouchingIt) {
  folder_.write("file", content_);
  EXPECT_FALSE(fetch(set(), target(), options_));
  folder_.write("file", content_.substr(1));
  EXPECT_THAT(error_of(set()), AllOf(HasSubstr("is not the file it should be"), HasSubstr("remove it")));
  std::string other = content_;
  other[7] = '!';
  folder_.write("file", other);
  EXPECT_THAT(error_of(set()), HasSubstr(digest_of(other)));
  EXPECT_EQ(fetched(), other);
  EXPECT_TRUE(server_.requests().empty());
}

TEST_F(Fetch, ReadsASetInAFolderThatItMayNotWrite) {
  folder_.write("file", content_);
  std::filesystem::permissions(target(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_FALSE(fetch(set(), target(), options_));
  std::filesystem::permissions(target(), std::filesystem::perms::owner_all);
}

class FetchArchive : public Fetch {
 protected:
  RemoteSet archive_set(const std::string& archive) {
    server_.serve("set.tar.gz", {.content = archive});
    const RemoteFile file{.name = "set.tar.gz",
                          .size = archive.size(),
                          .digest = digest_of(archive),
                          .urls = {server_.address() + "/set.tar.gz"}};
    return {
        .name = "set",
        .title = "",
        .files = {file},
        .folder = "set",
        .contents = {{.name = "one", .digest = digest_of("first")}, {.name = "two", .digest = digest_of("second")}}};
  }
};

TEST_F(FetchArchive, UnpacksIt_AndTheSecondTimeTouchesNothing) {
  const RemoteSet wanted = archive_set(make_archive({{"set/one", "first"}, {"set/two", "second"}, {"set/a/b", "c"}}));
  EXPECT_TRUE(fetch(wanted, target(), options_));
  EXPECT_EQ(test::content(target() / "set/one"), "first");
  EXPECT_EQ(test::content(target() / "set/a/b"), "c");
  expect_only({"set"});
  EXPECT_FALSE(fetch(wanted, target(), options_));
  EXPECT_EQ(server_.requests().size(), 1);
}

TEST_F(FetchArchive, UsesAnArchiveThatWasBrought_AndLeavesIt) {
  const std::string archive = make_archive({{"set/one", "first"}, {"set/two", "second"}});
  folder_.write("set.tar.gz", archive);
  EXPECT_TRUE(fetch(archive_set(archive), target(), options_));
  EXPECT_TRUE(server_.requests().empty());
  expect_only({"set", "set.tar.gz"});
}

TEST_F(FetchArchive, ClearsAwayWhatAKilledProcessLeft) {
  std::filesystem::create_directories(target() / ".set.unpacking");
  folder_.write(".set.unpacking/one", "fir");
  EXPECT_TRUE(fetch(archive_set(make_archive({{"set/one", "first"}, {"set/two", "second"}})), target(), options_));
  expect_only({"set"});
}

TEST_F(FetchArchive, HasNoFolderUnlessAllOfItIsThereAndRight) {
  for (const auto& entries : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{"set/one", "first"}},
           {{"set/one", "first"}, {"set/two", "other"}},
           {{"set/one", "first"}, {"set/two", "second"}, {"set/two", "second"}},
           {{"set/one", "first"}, {"set/../two", "second"}},
           {{"set/one", "first"}, {"/tmp/two", "second"}},
           {{"set/one", "first"}, {"other/two", "second"}},
           {{"set/one", "first"}, {"set/.two", "second"}},
           {{"set/one", "first"}, {"set/two\nthree", "second"}}}) {
    EXPECT_NE(error_of(archive_set(make_archive(entries))), "nothing was thrown") << entries.back().first;
    EXPECT_FALSE(std::filesystem::exists(target() / "set"));
    EXPECT_FALSE(std::filesystem::exists(target() / ".set.unpacking"));
    std::filesystem::remove(target() / "set.tar.gz");
  }
}

TEST_F(FetchArchive, SaysWhatIsDamagedInAFolderThatIsThere) {
  const RemoteSet wanted = archive_set(make_archive({{"set/one", "first"}, {"set/two", "second"}}));
  fetch(wanted, target(), options_);
  folder_.write("set/two", "seconds");
  EXPECT_THAT(error_of(wanted), AllOf(HasSubstr("set/two"), HasSubstr("is not the file it should be")));
  std::filesystem::remove(target() / "set/two");
  EXPECT_THAT(error_of(wanted), AllOf(HasSubstr("set/two"), HasSubstr("is not there")));
}

}  // namespace
}  // namespace lockstep::data

// Fetching from a server that has the faults of servers, into a folder that may hold anything.
#include <algorithm>

#include "fetch_fixture.h"

namespace lockstep::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace lockstep::data

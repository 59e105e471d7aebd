// Sets that are archives: a folder is there only when all of it is.
#include <archive.h>
#include <archive_entry.h>

#include "fetch_fixture.h"

namespace lockstep::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

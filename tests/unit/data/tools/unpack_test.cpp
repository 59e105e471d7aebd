// Archives of ill will: links, devices, names that lead elsewhere, bombs.
#include "data/tools/unpack.h"

#include <archive.h>
#include <archive_entry.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;

struct Entry {
  std::string name;
  unsigned type = AE_IFREG;
  std::string content, symbolic_link, hard_link;
};

class Unpack : public ::testing::Test {
 protected:
  Unpack() { std::filesystem::create_directory(target()); }

  std::filesystem::path archive_of(const std::vector<Entry>& entries) const {
    const auto path = folder_.path() / "archive.tar.gz";
    archive* out = ::archive_write_new();
    ::archive_write_add_filter_gzip(out);
    ::archive_write_set_format_pax_restricted(out);
    ::archive_write_open_filename(out, path.c_str());
    for (const Entry& each : entries) {
      archive_entry* entry = ::archive_entry_new();
      ::archive_entry_set_pathname(entry, each.name.c_str());
      ::archive_entry_set_filetype(entry, each.type);
      ::archive_entry_set_size(entry, static_cast<la_int64_t>(each.content.size()));
      ::archive_entry_set_perm(entry, 0777);
      if (!each.symbolic_link.empty()) ::archive_entry_set_symlink(entry, each.symbolic_link.c_str());
      if (!each.hard_link.empty()) ::archive_entry_set_hardlink(entry, each.hard_link.c_str());
      ::archive_write_header(out, entry);
      ::archive_write_data(out, each.content.data(), each.content.size());
      ::archive_entry_free(entry);
    }
    ::archive_write_close(out);
    ::archive_write_free(out);
    return path;
  }

  auto unpacking(const std::vector<Entry>& entries, const UnpackLimits& limits = {}) const {
    return [this, path = archive_of(entries), limits] { unpack_folder(path, "top", target(), limits); };
  }

  std::filesystem::path target() const { return folder_.path() / "target"; }

  test::TemporaryFolder folder_;
};

TEST_F(Unpack, TakesFilesAndFolders_WithPermissionsOfItsOwn) {
  unpacking({{"./top/", AE_IFDIR}, {"./top/a", AE_IFREG, "one"}, {"./top/sub/b", AE_IFREG, "two"}})();
  EXPECT_EQ(test::content(target() / "a"), "one");
  EXPECT_EQ(test::content(target() / "sub/b"), "two");
  const auto mode = std::filesystem::status(target() / "a").permissions();
  EXPECT_EQ(mode & std::filesystem::perms::owner_exec, std::filesystem::perms::none);
}

TEST_F(Unpack, RefusesLinksAndDevices) {
  EXPECT_THAT(unpacking({{"top/a", AE_IFLNK, "", "/etc/passwd"}}), ThrowsWith<RuntimeError>("links and devices"));
  EXPECT_THAT(unpacking({{"top/a", AE_IFREG, "x"}, {"top/b", AE_IFREG, "", "", "top/a"}}),
              ThrowsWith<RuntimeError>("links and devices"));
  EXPECT_THAT(unpacking({{"top/a", AE_IFIFO}}), ThrowsWith<RuntimeError>("links and devices"));
}

TEST_F(Unpack, RefusesNamesThatLeadElsewhere) {
  for (const char* name : {"/top/a", "../top/a", "top/../a", "top/b/../../a", "top", "other/a", "top//a", "top/./a",
                           "top/a\x1b", "top/.hidden"}) {
    EXPECT_THAT(unpacking({{name, AE_IFREG, "x"}}), ::testing::Throws<RuntimeError>()) << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(target()));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "a"));
}

TEST_F(Unpack, RefusesABomb) {
  const std::vector<Entry> bomb = {{"top/a", AE_IFREG, std::string(1'000'000, '\0')}};
  EXPECT_THAT(unpacking(bomb, {.bytes = 999'999}), ThrowsWith<RuntimeError>("becomes too large"));
  std::filesystem::remove(target() / "a");
  EXPECT_THAT(unpacking(bomb, {.bytes = 1'000'000}), ::testing::Not(::testing::Throws<RuntimeError>()));
  EXPECT_THAT(unpacking({{"top/b"}, {"top/c"}}, {.files = 1}), ThrowsWith<RuntimeError>("too many files"));
}

TEST_F(Unpack, FindsTruncationAtEveryLength) {
  std::string random;
  for (int i = 0; i < 300; ++i) random += std::to_string(i * i);
  const std::string whole = test::content(archive_of({{"top/a", AE_IFREG, random}}));
  // Behind the last byte of the file there are only the zeros that end a tar.
  for (std::size_t length = 0; length + 40 < whole.size(); length += 7) {
    const auto path = folder_.write("short.tar.gz", whole.substr(0, length));
    EXPECT_THAT([&] { unpack_folder(path, "top", target()); }, ::testing::Throws<RuntimeError>()) << length;
    std::filesystem::remove_all(target() / "a");
  }
}

}  // namespace
}  // namespace lockstep::data

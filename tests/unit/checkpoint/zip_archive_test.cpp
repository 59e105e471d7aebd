// Archives that are right but for one thing.
#include "checkpoint/zip_archive.h"

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "checkpoint/little_endian.h"
#include "checkpoint/zip_writer.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::checkpoint {
namespace {

using namespace std::string_literals;
using test::ThrowsWith;

constexpr std::string_view kCentral = "PK\1\2", kEnd64 = "PK\6\6", kLocator = "PK\6\7", kEnd = "PK\5\6";

std::string archive_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  const test::TemporaryFolder folder;
  OutputFile file(folder.path() / "a");
  ZipWriter writer(file);
  for (const auto& [name, text] : entries) writer.add(name, text);
  writer.finish();
  file.finish();
  return test::content(folder.path() / "a");
}

std::string small_archive() {
  return archive_of({{"a/one", "111"}, {"a/two", "22"}});
}

// The archive with other bytes, some way behind the n-th place of a signature.
std::string changed(std::string archive, std::string_view signature, std::size_t distance, const std::string& bytes,
                    int occurrence = 0) {
  std::size_t at = archive.find(signature);
  for (; occurrence > 0; --occurrence) at = archive.find(signature, at + 1);
  return archive.replace(at + distance, bytes.size(), bytes);
}

auto reading(const std::string& content) {
  return [content] { ZipArchive(std::as_bytes(std::span(content)), "file").require_stored(); };
}

TEST(ZipArchive, WhatIsWrittenIsReadWhereItIs) {
  const std::string content = small_archive();
  const ZipArchive archive(std::as_bytes(std::span(content)), "file");
  ASSERT_EQ(archive.entries().size(), 2);
  const ZipArchive::Entry& two = *archive.find("a/two");
  EXPECT_EQ(reinterpret_cast<const char*>(two.bytes.data()), content.data() + 128);
  EXPECT_EQ(two.bytes.size(), 2);
  EXPECT_TRUE(archive.is_whole(two));
  EXPECT_EQ(archive.find("a"), nullptr);
}

TEST(ZipArchive, AChecksumIsThatOfZip) {
  EXPECT_EQ(zip_checksum(std::as_bytes(std::span("123456789", 9))), 0xcbf43926);
  EXPECT_EQ(zip_checksum({}), 0);
}

TEST(ZipArchive, AnArchiveWithoutChecksumsIsAsWholeAsCanBeTold) {
  std::string content = small_archive();
  content = changed(changed(content, kCentral, 16, std::string(4, '\0')), kCentral, 16, std::string(4, '\0'), 1);
  const ZipArchive archive(std::as_bytes(std::span(content)), "file");
  EXPECT_FALSE(archive.has_checksums());
  EXPECT_TRUE(archive.is_whole(*archive.find("a/one")));
}

TEST(ZipArchive, ACommentAtItsEndIsLeftOut) {
  EXPECT_NO_THROW(reading(changed(small_archive(), kEnd, 20, "\x03\0"s) + "abc")());
  EXPECT_THAT(reading(small_archive() + "abc"), ThrowsWith<UsageError>("truncated"));
}

TEST(ZipArchive, TakesLargeSizesFromTheirField) {
  // As an entry beyond 4 GiB has it, though it has only 3 bytes.
  std::string content = small_archive();
  const std::size_t central = content.find(kCentral), name_end = central + 46 + 5;
  const std::string extra = "\x01\0\x18\0"s + little_endian(3, 8) + little_endian(3, 8) + little_endian(0, 8);
  content.insert(name_end, extra);
  content = changed(content, kCentral, 20, std::string(8, '\xff'));
  content = changed(content, kCentral, 42, std::string(4, '\xff'));
  content = changed(content, kCentral, 30, little_endian(extra.size(), 2));
  const std::uint64_t end = content.find(kEnd64), bytes = end - central;
  content = changed(content, kEnd64, 40, little_endian(bytes, 8));
  content = changed(content, kLocator, 8, little_endian(end, 8));
  content = changed(content, kEnd, 12, std::string(4, '\xff'));
  const ZipArchive archive(std::as_bytes(std::span(content)), "file");
  EXPECT_EQ(archive.find("a/one")->bytes.size(), 3);
  EXPECT_THAT(reading(changed(content, kCentral, 46 + 5, "\x02")), ThrowsWith<UsageError>("without its size"));
}

TEST(ZipArchive, RefusesWhatTorchSaveDoesNotWrite) {
  EXPECT_THAT(reading(changed(small_archive(), kCentral, 10, "\x08")), ThrowsWith<UsageError>("compressed entry"));
  EXPECT_THAT(reading(changed(small_archive(), kCentral, 8, "\x01")), ThrowsWith<UsageError>("encrypted entry"));
  EXPECT_THAT(reading(changed(small_archive(), kEnd, 4, "\x01")), ThrowsWith<UsageError>("several disks"));
}

TEST(ZipArchive, RefusesClaimsThatDoNotFitTheFile) {
  const std::string good = small_archive();
  EXPECT_THAT(reading(changed(good, kCentral, 24, "\x04")), ThrowsWith<UsageError>("two sizes"));
  EXPECT_THAT(reading(changed(good, kCentral, 20, "\xff\xff\0\0\xff\xff\0\0"s)),
              ThrowsWith<UsageError>("outside of it"));
  EXPECT_THAT(reading(changed(good, kCentral, 42, "\x01")), ThrowsWith<UsageError>("where it says"));
  EXPECT_THAT(reading(changed(good, kCentral, 46, "b")), ThrowsWith<UsageError>("two names"));
  EXPECT_THAT(reading(changed(good, kCentral, 28, "\xff\xff")), ThrowsWith<UsageError>("list of entries"));
  EXPECT_THAT(reading(changed(good, kEnd64, 32, "\x01")), ThrowsWith<UsageError>("differ"));
  EXPECT_THAT(reading(changed(good, kLocator, 8, std::string(8, '\xff'))), ThrowsWith<UsageError>("not where it says"));
  EXPECT_THAT(reading(changed(changed(good, kEnd64, 48, "\x01"), kEnd, 16, "\x01")),
              ThrowsWith<UsageError>("does not fit"));
  const std::string many = little_endian(1'000'001, 8);
  EXPECT_THAT(reading(changed(changed(good, kEnd64, 32, many), kEnd, 10, "\xff\xff")),
              ThrowsWith<UsageError>("too many entries"));
}

TEST(ZipArchive, RefusesEntriesThatOverlap) {
  // The second is made to be the first, under whose name it lies within itself.
  std::string content = archive_of({{"a/one", std::string(100, 'x')}, {"a/two", "22"}});
  const std::size_t inner = 70;
  content.replace(inner, 35, content.substr(content.find("PK\3\4", 1), 35));
  content = changed(content, kCentral, 42, little_endian(inner, 4), 1);
  EXPECT_THAT(reading(content), ThrowsWith<UsageError>("overlap: 'a/one' and 'a/two'"));
}

TEST(ZipArchive, RefusesNamesThatLeadElsewhereOrComeTwice) {
  for (const char* name : {"a/../../b", "../b", "/etc/passwd", "..", "a/.."}) {
    EXPECT_THAT(reading(archive_of({{name, ""}})), ThrowsWith<UsageError>("not allowed")) << name;
  }
  EXPECT_THAT(reading(archive_of({{"a\0b"s, ""}})), ThrowsWith<UsageError>("not allowed"));
  EXPECT_THAT(reading(archive_of({{std::string(1025, 'a'), ""}})), ThrowsWith<UsageError>("not allowed"));
  EXPECT_NO_THROW(reading(archive_of({{"a/..b", ""}}))());
  EXPECT_THAT(reading(archive_of({{"a", "1"}, {"a", "2"}})), ThrowsWith<UsageError>("two entries 'a'"));
}

}  // namespace
}  // namespace lockstep::checkpoint

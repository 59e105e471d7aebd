#include <lockstep/data/tools/catalog.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "data/tools/digest.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;

TEST(BuiltInSets, AreWhole_AndOverHttpsOnly) {
  for (const RemoteSet& set : built_in_sets()) {
    EXPECT_FALSE(set.files.empty());
    for (const RemoteFile& file : set.files) {
      EXPECT_TRUE(is_plain_name(file.name)) << file.name;
      EXPECT_TRUE(is_digest(file.digest)) << file.name;
      EXPECT_GE(file.urls.size(), 2) << file.name;
      for (const std::string& url : file.urls) EXPECT_THAT(url, ::testing::StartsWith("https://"));
    }
    for (const RemoteSet::Part& part : set.contents) EXPECT_TRUE(is_digest(part.digest)) << part.name;
  }
}

class Catalog : public ::testing::Test {
 protected:
  auto reading(const std::string& content) {
    return [path = folder_.write("catalog.json", content)] { return read_catalog(path); };
  }
  test::TemporaryFolder folder_;
};

const std::string kMd5 = "md5:0123456789abcdef0123456789abcdef";

TEST_F(Catalog, DescribesSetsOfOnesOwn) {
  const auto sets = reading(R"({"sets": [{"name": "own", "folder": "own-1", "files": [{"name": "own.tar.gz", "size": 5,
    "digest": ")" + kMd5 + R"(", "urls": ["https://host/own.tar.gz"]}],
    "contents": [{"name": "a", "digest": ")" +
                            kMd5 + R"("}]}]})")();
  ASSERT_EQ(sets.size(), 1);
  EXPECT_EQ(sets[0].folder, "own-1");
  EXPECT_EQ(sets[0].files[0].size, 5);
  EXPECT_EQ(sets[0].contents[0].digest, kMd5);
}

TEST_F(Catalog, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(reading("<html>"), ThrowsWith<UsageError>("is no catalog"));
  EXPECT_THAT(reading(R"({"sets": 3})"), ThrowsWith<UsageError>("is no catalog"));
  EXPECT_THAT(reading(R"({"sets": [{"name": "a"}]})"), ThrowsWith<UsageError>("is no catalog"));
  EXPECT_THAT(reading(R"({"sets": [{"name": "a", "files": []}]})"), ThrowsWith<UsageError>("number of files"));
  for (const char* name : {"../a", "/a", "a/b", ".a", "", "a b"}) {
    EXPECT_THAT(reading(fmt::format(R"({{"sets": [{{"name": "{}", "files": []}}]}})", name)),
                ThrowsWith<UsageError>("no plain file name"))
        << name;
  }
  EXPECT_THAT(
      reading(R"({"sets": [{"name": "a", "files": [{"name": "f", "size": 1, "digest": "md5:12", "urls": []}]}]})"),
      ThrowsWith<UsageError>("sha256:HEX or md5:HEX"));
}

}  // namespace
}  // namespace lockstep::data

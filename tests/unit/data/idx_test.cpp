#include <lockstep/data/idx.h>

#include <zlib.h>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "temporary_folder.h"

namespace lockstep::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Two images of 2 x 3 pixels.
std::string sample() {
  return std::string(
             "\0\0\x08\x03"
             "\0\0\0\x02"
             "\0\0\0\x02"
             "\0\0\0\x03",
             16) +
         "abcdefghijkl";
}

std::string compressed(const std::string& content) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "file.gz";
  gzFile file = ::gzopen(path.c_str(), "wb");
  ::gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  ::gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ReadIdx : public ::testing::Test {
 protected:
  std::string error_of(const std::string& content, int dimensions = 3) {
    try {
      read_idx(folder_.write("bad-file", content), dimensions);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  test::TemporaryFolder folder_;
};

TEST_F(ReadIdx, ReadsPlainAndCompressedFiles) {
  for (const std::string& content : {sample(), compressed(sample())}) {
    const IdxArray array = read_idx(folder_.write("file", content), 3);
    EXPECT_EQ(array.sizes, (std::vector<std::int64_t>{2, 2, 3}));
    EXPECT_EQ(std::string(array.bytes.begin(), array.bytes.end()), "abcdefghijkl");
  }
}

TEST_F(ReadIdx, NamesAMissingFile) {
  try {
    read_idx(folder_.path() / "missing", 3);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("missing"), HasSubstr("No such file"), HasSubstr("next:")));
  }
  EXPECT_THROW(read_idx(folder_.path(), 3), UsageError);
}

TEST_F(ReadIdx, NamesAWrongMagicNumber) {
  EXPECT_THAT(error_of("<!DOCTYPE html>"),
              AllOf(HasSubstr("bad-file"), HasSubstr("magic number 0x3c21444f"), HasSubstr("0x00000803")));
  EXPECT_THAT(error_of(sample(), 1), HasSubstr("magic number 0x00000803"));
}

TEST_F(ReadIdx, FindsTruncationAtEveryLength) {
  const std::string plain = sample();
  for (std::size_t length = 0; length < plain.size(); ++length) {
    EXPECT_THAT(error_of(plain.substr(0, length)), HasSubstr("truncated")) << length;
  }
  const std::string gz = compressed(plain);
  for (std::size_t length = 3; length < gz.size(); ++length) {
    EXPECT_NE(error_of(gz.substr(0, length)), "nothing was thrown") << length;
  }
}

TEST_F(ReadIdx, FindsAFlippedBitInACompressedFile) {
  const std::string gz = compressed(sample());
  // The checksum and length that close the file, and the data before them; the header's time and flags may be anything.
  for (std::size_t i = 10; i < gz.size(); ++i) {
    std::string damaged = gz;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_NE(error_of(damaged), "nothing was thrown") << "byte " << i;
  }
}

TEST_F(ReadIdx, RefusesSizesThatMakeNoSense_WithoutTakingMemory) {
  EXPECT_THAT(error_of(std::string("\0\0\x08\x01\xff\xff\xff\xff", 8), 1), HasSubstr("makes no sense"));
  EXPECT_THAT(error_of(std::string("\0\0\x08\x01\0\0\0\0", 8), 1), HasSubstr("makes no sense"));
  EXPECT_THAT(error_of(std::string("\0\0\x08\x03\0\1\0\0\0\1\0\0\0\1\0\0", 16)), HasSubstr("makes no sense"));
}

TEST_F(ReadIdx, RefusesTrailingBytes) {
  EXPECT_THAT(error_of(sample() + "m"), HasSubstr("longer"));
}

}  // namespace
}  // namespace lockstep::data

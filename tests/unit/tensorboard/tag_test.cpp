#include "tensorboard/tag.h"

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "throws_with.h"

namespace lockstep::tensorboard {
namespace {

TEST(Tag, IsCleanedAsTensorboardXDoes) {
  EXPECT_EQ(clean_tag("train/loss-1.5_a", TagCharacters::kName), "train/loss-1.5_a");
  EXPECT_EQ(clean_tag("y=2x (fast)", TagCharacters::kName), "y_2x__fast_");
  EXPECT_EQ(clean_tag("//a/b", TagCharacters::kName), "a/b");
  EXPECT_EQ(clean_tag("größe/学习", TagCharacters::kName), "größe/学习");
  EXPECT_EQ(clean_tag("a tag (kept)", TagCharacters::kPrintable), "a tag (kept)");
}

TEST(Tag, LosesControlCharactersAndWhatIsNotUtf8) {
  for (const TagCharacters characters : {TagCharacters::kName, TagCharacters::kPrintable}) {
    EXPECT_EQ(clean_tag("a\nb\x1b[31m", characters).substr(0, 4), "a_b_");
    EXPECT_EQ(clean_tag(std::string("a\0b", 3), characters), "a_b");
    EXPECT_EQ(clean_tag("a\xff\xc3", characters), "a__");
    EXPECT_EQ(clean_tag("\xc2\x85", characters), "_");        // NEXT LINE
    EXPECT_EQ(clean_tag("\xed\xa0\x80", characters), "___");  // half of a surrogate pair
    EXPECT_EQ(clean_tag("\xc0\xaf", characters), "__");       // a slash in two bytes
  }
}

TEST(Tag, ThatIsEmptyOrTooLong_IsRefused) {
  EXPECT_THAT([] { clean_tag("", TagCharacters::kName); }, test::ThrowsWith<UsageError>("empty"));
  EXPECT_THAT([] { clean_tag("///", TagCharacters::kName); }, test::ThrowsWith<UsageError>("empty"));
  EXPECT_THAT([] { clean_tag(std::string(1 << 20, 'a'), TagCharacters::kName); },
              test::ThrowsWith<UsageError>("1,048,576 bytes"));
  EXPECT_EQ(clean_tag(std::string(4096, 'a'), TagCharacters::kName).size(), 4096U);
}

TEST(Text, KeepsLinesAndTabs) {
  EXPECT_EQ(clean_text("| a\t|\n\x07 ü \xff"), "| a\t|\n? ü ?");
  EXPECT_EQ(clean_text(""), "");
}

}  // namespace
}  // namespace lockstep::tensorboard

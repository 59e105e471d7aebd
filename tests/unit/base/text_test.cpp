#include <lockstep/base/text.h>

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using namespace std::chrono_literals;

TEST(EscapeControls, KeepsPlainAndUnicodeText) {
  EXPECT_EQ(escape_controls("größe 日本 ✓"), "größe 日本 ✓");
}

TEST(EscapeControls, ReplacesControlCharactersAndBrokenUnicode) {
  EXPECT_EQ(escape_controls("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(escape_controls(std::string_view("\0\x1b\x7f", 3)), "\\x00\\x1b\\x7f");
  EXPECT_EQ(escape_controls("\xc3("), "\\xc3(");                  // cut short
  EXPECT_EQ(escape_controls("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(escape_controls("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(escape_controls("\xc2\x9b"
                            "2J"),
            "\\xc2\\x9b"
            "2J");  // CSI as one character
}

TEST(EscapeControls, KeepsNewlinesWhenAsked) {
  EXPECT_EQ(escape_controls("a\nb\x07", true), "a\nb\\x07");
}

TEST(NearestName, FindsTypingMistakesOnly) {
  const std::vector<std::string> names = {"optimizer", "epochs", "batch_size"};
  EXPECT_EQ(nearest_name("optimiser", names), "optimizer");
  EXPECT_EQ(nearest_name("epohcs", names), "epochs");
  EXPECT_EQ(nearest_name("banana", names), "");
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'e'), names), "");
  EXPECT_EQ(did_you_mean("optimiser", names), "; did you mean 'optimizer'?");
  EXPECT_EQ(did_you_mean("banana", names), "");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(FormatCount, SeparatesThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(60000), "60,000");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(-123), "-123");
}

TEST(FormatBytes, PicksTheUnit) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(std::uint64_t{1} << 40), "1.0 TiB");
}

TEST(FormatDuration, PicksTheUnit) {
  EXPECT_EQ(format_duration(850ms), "850 ms");
  EXPECT_EQ(format_duration(999.9ms), "1.0 s");
  EXPECT_EQ(format_duration(12.34s), "12.3 s");
  EXPECT_EQ(format_duration(59.96s), "1 min 0 s");
  EXPECT_EQ(format_duration(71s), "1 min 11 s");
  EXPECT_EQ(format_duration(2h + 5min), "2 h 5 min");
}

TEST(FormatPlural, AgreesWithTheNumber) {
  EXPECT_EQ(format_plural(1, "rank"), "1 rank");
  EXPECT_EQ(format_plural(2000, "rank"), "2,000 ranks");
}

}  // namespace
}  // namespace lockstep

#include <gmock/gmock.h>

#include "launch/lines.h"

namespace lockstep::launch {
namespace {

TEST(LineAssembler, GivesLinesWhenTheyAreWhole) {
  LineAssembler lines;
  EXPECT_EQ(lines.add("one\ntw"), "one\n");
  EXPECT_EQ(lines.add("o"), "");
  EXPECT_EQ(lines.add("\nthree\nfour\nfi"), "two\nthree\nfour\n");
  EXPECT_EQ(lines.rest(), "fi\n");
  EXPECT_EQ(lines.rest(), "");
}

TEST(LineAssembler, KeepsEmptyLinesAndZeroBytes) {
  LineAssembler lines;
  EXPECT_EQ(lines.add(std::string_view("\n\na\0b\n", 6)), std::string("\n\na\0b\n", 6));
}

TEST(LineAssembler, PassesALineWithoutEndInPieces) {
  LineAssembler lines;
  const std::string half(LineAssembler::kLongestLine / 2, 'x');
  EXPECT_EQ(lines.add(half), "");
  EXPECT_EQ(lines.add(half).size(), LineAssembler::kLongestLine);
  EXPECT_EQ(lines.add("y\n"), "y\n");
}

TEST(LineAssembler, PassesAProgressBarAsItIsDrawn) {
  LineAssembler lines;
  EXPECT_EQ(lines.add("10%\r"), "");  // a newline may follow
  EXPECT_EQ(lines.add("20%\r30%"), "10%\r20%\r");
  EXPECT_EQ(lines.add("\rdone\n"), "30%\rdone\n");
  EXPECT_EQ(lines.add("as on Windows\r"), "");
  EXPECT_EQ(lines.add("\n"), "as on Windows\r\n");
}

TEST(Tail, HasNothingThatWasOverwritten) {
  Tail tail(3);
  tail.add("start\n");
  tail.add("10%\r20%\r");
  tail.add("30%\rdone\r\n");
  EXPECT_EQ(tail.text(), "start\ndone\n");
}

TEST(Tail, HasTheLastLines) {
  Tail tail(3);
  EXPECT_EQ(tail.text(), "");
  tail.add("1\n2\n");
  tail.add("3\n4\n\n");
  EXPECT_EQ(tail.text(), "3\n4\n\n");
}

TEST(Tail, CutsLinesThatNobodyWouldRead) {
  Tail tail(1);
  tail.add(std::string(1 << 20, 'x') + "\n");
  EXPECT_LT(tail.text().size(), 3000U);
}

TEST(WithPrefix, PutsItBeforeEachLine) {
  EXPECT_EQ(with_prefix("[0/2] ", "a\n\nb\n"), "[0/2] a\n[0/2] \n[0/2] b\n");
  EXPECT_EQ(with_prefix("[0/2] ", "without end"), "[0/2] without end");
  EXPECT_EQ(with_prefix("[0/2] ", ""), "");
}

}  // namespace
}  // namespace lockstep::launch

#include <lockstep/base/errors.h>

#include <cerrno>

#include <gmock/gmock.h>

namespace lockstep {
namespace {

using ::testing::HasSubstr;

TEST(Error, TellsMessageFoundExpectedAndNext) {
  const UsageError error({.message = "the number of ranks makes no sense",
                          .operation = "run",
                          .found = "0",
                          .expected = "1 to 4096",
                          .next = "give -n 1"});
  EXPECT_STREQ(
      error.what(),
      "the number of ranks makes no sense\n  operation: run\n  found: 0\n  expected: 1 to 4096\n  next: give -n 1");
}

TEST(Error, EscapesControlCharactersOfForeignText) {
  const RuntimeError error({.message = "cannot read 'a\x1b[2Jb'", .found = "line\nforged: yes"});
  EXPECT_THAT(error.what(), HasSubstr("a\\x1b[2Jb"));
  EXPECT_THAT(error.what(), HasSubstr("found: line\\nforged: yes"));
}

TEST(Error, HasTheExitCodeOfItsFamily) {
  EXPECT_EQ(UsageError("x").exit_code(), 2);
  EXPECT_EQ(RuntimeError("x").exit_code(), 1);
}

TEST(SystemError, TellsTheReasonInWords) {
  EXPECT_STREQ(system_error("cannot open 'x'", ENOENT).what(), "cannot open 'x': No such file or directory");
}

TEST(ReportErrors, LabelsTheMessageWithTheRank) {
  ::testing::internal::CaptureStderr();
  const int code = report_errors(
      {2, 4}, [](int, char**) -> int { throw UsageError("wrong"); }, 0, nullptr);
  EXPECT_EQ(code, 2);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[2/4] error: wrong\n");
}

TEST(ReportErrors, NamesTheFailedRankWhenItIsAnother) {
  ::testing::internal::CaptureStderr();
  report_errors(
      {2, 4},
      [](int, char**) -> int {
        throw RuntimeError({.message = "lost", .rank = RankId{1, 4}});
      },
      0, nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[1/4] error: lost\n");
}

TEST(ReportErrors, GivesOneLineForAForeignException) {
  ::testing::internal::CaptureStderr();
  const int code = report_errors(
      {}, [](int, char**) -> int { throw std::out_of_range("vector\x07"); }, 0, nullptr);
  EXPECT_EQ(code, 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "error: vector\\x07\n");
}

}  // namespace
}  // namespace lockstep

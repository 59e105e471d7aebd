#include <lockstep/base/log.h>

#include <gtest/gtest.h>

#include <lockstep/base/errors.h>

#include "scoped_variable.h"
#include "temporary_folder.h"

namespace lockstep::log {
namespace {

using test::ScopedVariable;

std::string lines_of(RankId rank, bool all_ranks = false) {
  ::testing::internal::CaptureStderr();
  configure({.rank = rank, .all_ranks = all_ranks});
  debug("d");
  info("i {}", 1);
  warning("w");
  error("e\x1b");
  return ::testing::internal::GetCapturedStderr();
}

TEST(Log, SpeaksWithoutLabelWhenAlone) {
  const ScopedVariable unset("LOCKSTEP_LOG", nullptr);
  EXPECT_EQ(lines_of({0, 1}), "i 1\nwarning: w\nerror: e\\x1b\n");
}

TEST(Log, LetsRankZeroSpeakAndOthersReportErrors) {
  const ScopedVariable unset("LOCKSTEP_LOG", nullptr);
  EXPECT_EQ(lines_of({0, 2}), "[0/2] i 1\n[0/2] warning: w\n[0/2] error: e\\x1b\n");
  EXPECT_EQ(lines_of({1, 2}), "[1/2] error: e\\x1b\n");
}

TEST(Log, LetsAllRanksSpeakWhenAsked) {
  EXPECT_EQ(lines_of({1, 2}, true), "[1/2] i 1\n[1/2] warning: w\n[1/2] error: e\\x1b\n");
  const ScopedVariable all("LOCKSTEP_LOG", "all,debug");
  EXPECT_EQ(lines_of({1, 2}), "[1/2] debug: d\n[1/2] i 1\n[1/2] warning: w\n[1/2] error: e\\x1b\n");
}

TEST(Log, LeavesTheLabelToALauncherThatLabels) {
  const ScopedVariable labelled("LOCKSTEP_LABELLED", "1");
  const ScopedVariable only_errors("LOCKSTEP_LOG", "error");
  EXPECT_EQ(lines_of({0, 2}), "error: e\\x1b\n");
}

TEST(Log, WritesIntoItsFileAlone_WhatOthersPrint) {
  const test::TemporaryFolder folder;
  ::testing::internal::CaptureStderr();
  configure({});
  write_to_file("there is none yet");
  write_also_to(folder.path() / "log");
  write_to_file("error: one\n  next: two\x1b");
  configure({});  // closes the file
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  const std::string text = test::content(folder.path() / "log");
  EXPECT_EQ(text.substr(std::string("2026-11-18 08:00:00.000 ").size()), "error: one\n  next: two\\x1b\n");
}

TEST(Log, SaysOnceThatLinesAreMissing_WhereTheDiskIsFull) {
  const ScopedVariable unset("LOCKSTEP_LOG", nullptr);
  ::testing::internal::CaptureStderr();
  configure({});
  write_also_to("/dev/full");
  info("one");
  info("two");
  write_to_file("error: three");
  configure({});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "one\n"
            "warning: lines are missing in /dev/full: No space left on device\n"
            "two\n");
}

TEST(Log, OfAnErrorThatOthersPrint_DoesNotThrow_WhereTheDiskIsFull) {
  configure({});
  write_also_to("/dev/full");
  ::testing::internal::CaptureStderr();
  EXPECT_NO_THROW(write_to_file("error: one"));
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("lines are missing"), std::string::npos);
  configure({});
}

TEST(Log, RefusesAnUnknownWord) {
  const ScopedVariable wrong("LOCKSTEP_LOG", "loud");
  EXPECT_THROW(configure({}), UsageError);
}

}  // namespace
}  // namespace lockstep::log

#include <csignal>

#include <gmock/gmock.h>

#include "launch/failure.h"

namespace lockstep::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Failure exited(int rank, int code, int blamed = -1, const std::string& host = "a") {
  return {.end = {.rank = rank, .pid = 100 + rank, .exit_code = code, .time = 1'000, .blamed_rank = blamed},
          .host = host,
          .how = ""};
}

Failure struck(int rank, int signal, const std::string& host = "a", std::int64_t time = 1'000) {
  return {.end = {.rank = rank, .pid = 100 + rank, .exit_code = 128 + signal, .signal = signal, .time = time},
          .host = host,
          .how = ""};
}

int first_of(const std::vector<Failure>& failures) {
  return first_failure(failures).end.rank;
}

TEST(FirstFailure, IsTheOneHeardOfFirst) {
  EXPECT_EQ(first_of({exited(2, 1), exited(0, 3)}), 2);
  EXPECT_EQ(first_of({struck(1, SIGSEGV), struck(0, SIGKILL)}), 1);
}

TEST(FirstFailure, IsTheOneWhoseLossAnotherDiedOf) {
  EXPECT_EQ(first_of({exited(0, 1, /*blamed=*/2), exited(2, 42)}), 2);
  EXPECT_EQ(first_of({exited(0, 1, /*blamed=*/1), exited(1, 1, /*blamed=*/2), struck(2, SIGABRT)}), 2);
}

TEST(FirstFailure, IsTheStuckOneThatTheOthersWaitFor) {
  Failure waiting = exited(0, 1), stuck = exited(2, 1);
  waiting.how = stuck.how = "has been silent for 8.0 s";
  waiting.waits = true;
  EXPECT_EQ(first_of({waiting, stuck}), 2);
  EXPECT_EQ(first_of({stuck, waiting}), 2);
  EXPECT_EQ(first_of({waiting, exited(1, 1)}), 0);
}

TEST(FirstFailure, IsNobodyWhoHasNotFailed) {
  EXPECT_EQ(first_of({exited(0, 1, /*blamed=*/3), exited(1, 1, /*blamed=*/3)}), 0);
}

TEST(FirstFailure, IsFoundWhenTwoBlameEachOther) {
  EXPECT_EQ(first_of({exited(0, 1, /*blamed=*/1), exited(1, 1, /*blamed=*/0)}), 0);
}

// The others do not know why it is gone: they have no Lockstep in them.
TEST(FirstFailure, IsTheOneThatWasStruckDownAtThatMoment) {
  EXPECT_EQ(first_of({exited(0, 1), struck(1, SIGKILL)}), 1);
  EXPECT_EQ(first_of({exited(0, 1), exited(2, 1), struck(1, SIGBUS, "b", 1'002)}), 1);
  EXPECT_EQ(first_of({exited(0, 1), struck(1, SIGKILL, "b", 1'100)}), 0);
  EXPECT_EQ(first_of({exited(0, 1), struck(1, SIGABRT, "b")}), 0);  // it gave up by itself, perhaps because of rank 0
}

TEST(Description, HasAllThatIsKnown) {
  Failure failure = struck(1, SIGSEGV);
  failure.end.age = 12;
  failure.end.doing = "in all_reduce #7 for 3 s";
  failure.end.error = "it broke\n  next: mend it";
  failure.end.last_lines = "one\ntwo\n";
  EXPECT_THAT(describe(failure, 4),
              AllOf(HasSubstr("rank 1 of 4 failed first: it was ended by signal 11 (Segmentation fault) after 12"),
                    HasSubstr("\n  where: a, pid 101, at "), HasSubstr("\n  meaning: it used memory that is not"),
                    HasSubstr("\n  doing: in all_reduce #7 for 3 s"),
                    HasSubstr("\n  error:\n  | it broke\n  |   next: mend it"),
                    HasSubstr("\n  last lines of its stderr:\n  | one\n  | two")));
}

TEST(Description, HasAnErrorOnce) {
  Failure failure = exited(1, 2);
  failure.end.error = "it broke\n  next: mend it";
  failure.end.last_lines = "[1/4] error: it broke\n  next: mend it\n";
  EXPECT_THAT(describe(failure, 4), AllOf(HasSubstr("stderr:\n  | [1/4] error: it broke\n  |   next: mend it"),
                                          Not(HasSubstr("  error:\n"))));
}

TEST(Description, SaysWhoMayHaveKilled) {
  Failure failure = struck(0, SIGKILL);
  EXPECT_THAT(describe(failure, 1), HasSubstr("somebody or a scheduler killed it"));
  failure.end.out_of_memory = true;
  EXPECT_THAT(describe(failure, 1), HasSubstr("because memory ran out"));
}

TEST(Description, LeavesOutWhatIsNotKnown) {
  EXPECT_THAT(describe(exited(0, 3), 2), AllOf(HasSubstr("it exited with code 3"), Not(HasSubstr("doing")),
                                               Not(HasSubstr("meaning")), Not(HasSubstr("stderr"))));
}

// What a rank prints may be meant for the terminal of who reads the summary.
TEST(Description, MakesForeignTextHarmless) {
  Failure failure = exited(0, 1);
  failure.end.last_lines = "\x1b]0;title\a\n";
  EXPECT_THAT(describe(failure, 2), AllOf(HasSubstr("\\x1b"), Not(HasSubstr("\x1b"))));
}

TEST(Others, AreListedWithTheirEnds) {
  const std::vector<Failure> failures = {exited(0, 1), struck(2, SIGABRT), exited(3, 7)};
  EXPECT_EQ(describe_others(failures, failures[0]), "rank 2 (signal 6), rank 3 (exit code 7)");
  EXPECT_EQ(describe_others({failures[0]}, failures[0]).find("rank 2"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::launch

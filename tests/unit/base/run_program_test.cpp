#include <lockstep/base/run_program.h>

#include <gmock/gmock.h>

namespace lockstep::test {
namespace {

TEST(RunProgram, EndsOneThatTakesTooLong) {
  const auto begin = std::chrono::steady_clock::now();
  const ProgramResult result = run_program({"sleep", "100"}, {.time = std::chrono::milliseconds(50)});
  EXPECT_THAT(result.complaint, ::testing::HasSubstr("did not end within"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
}

TEST(RunProgram, EndsOneThatWritesTooMuch) {
  EXPECT_THAT(run_program({"yes"}, {.most_output = 1000}).complaint, ::testing::HasSubstr("more than"));
}

TEST(RunProgram, GivesOutputAndExitCode) {
  EXPECT_EQ(run_program({"echo", "a b"}).output, "a b\n");
  EXPECT_THAT(run_program({"false"}).complaint, ::testing::HasSubstr("exit code 1"));
  EXPECT_FALSE(run_program({"no-such-program-at-all"}).found);
}

TEST(RunProgram, GivesInputAndTakesTheBeginningOfErrors) {
  const std::string input(1 << 20, 'x');
  EXPECT_EQ(run_program({"cat"}, {.input = input}).output, input);
  EXPECT_EQ(run_program({"cat"}).output, "");
  EXPECT_EQ(run_program({"sh", "-c", "echo why >&2; exit 2"}).errors, "why\n");
  EXPECT_EQ(run_program({"sh", "-c", "head -c 9000 /dev/zero | tr '\\0' e >&2"}).errors, std::string(4096, 'e'));
}

TEST(RunProgram, EndsOneThatStaysWhenItsOutputIsClosed) {
  const ProgramResult result =
      run_program({"sh", "-c", "exec >&-; exec sleep 100"}, {.time = std::chrono::milliseconds(300)});
  EXPECT_TRUE(result.timed_out);
}

}  // namespace
}  // namespace lockstep::test

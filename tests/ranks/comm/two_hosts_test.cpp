// Jobs on two hosts, which are network namespaces of this machine.
#include <regex>

#include <gmock/gmock.h>

#include "command.h"
#include "source_path.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;

const std::string kScript = test::source_path("tests/support/two_hosts").string();

// From one host to the other, for ten all-reduces of 4 MB on 2 x 2 ranks.
std::int64_t bytes_between_hosts(const std::string& backend) {
  const CommandResult result =
      run_command({kScript, "2", program_path("../tests/counted_rank"), backend}, {.limit = 120s});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::smatch match;
  const bool found = std::regex_search(result.out, match, std::regex("([0-9]+) bytes from host a to host b"));
  EXPECT_TRUE(found) << result.out << result.err;
  return found ? std::stoll(match[1]) : 0;
}

TEST(TwoHosts, ConformanceOfTheHierarchy) {
  for (const char* ranks : {"1", "2"}) {
    const CommandResult result = run_command({kScript, ranks, program_path("../tests/conformance_tests")},
                                             {.environment = {{"LOCKSTEP_TEST_BACKEND", "local+gloo"}}, .limit = 120s});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  }
}

// Two leaders exchange each byte once in each direction; from rank to rank it is half as much again.
TEST(TwoHosts, TheHierarchySendsNoByteTwice) {
  constexpr std::int64_t kPayload = 10 * 4'000'000;
  const std::int64_t hierarchy = bytes_between_hosts("auto");
  const std::int64_t flat = bytes_between_hosts("gloo");
  RecordProperty("hierarchy_bytes", std::to_string(hierarchy));
  RecordProperty("flat_bytes", std::to_string(flat));
  EXPECT_LT(hierarchy, kPayload * 11 / 10);
  EXPECT_GT(flat, kPayload * 14 / 10);
}

}  // namespace
}  // namespace lockstep::test

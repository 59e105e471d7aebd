#include <lockstep/base/post_mortem.h>

#include <fstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>

#include "temporary_folder.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PostMortemTest : public ::testing::Test {
 protected:
  struct Call {
    int sequence;
    std::string name, tensor, state = "done";
  };
  void leave(int rank, const std::vector<Call>& calls, const std::string& job = "job", int size = 3) {
    nlohmann::json operations = nlohmann::json::array();
    for (const Call& call : calls) {
      operations.push_back({{"group", "world"},
                            {"name", call.name},
                            {"sequence", call.sequence},
                            {"tensor", call.tensor},
                            {"started", call.sequence},
                            {"ended", 0},
                            {"state", call.state}});
    }
    std::ofstream(folder_.path() / ("rank-" + std::to_string(rank) + ".json"))
        << nlohmann::json{{"job", job},   {"host", "h"}, {"reason", "because"},     {"rank", rank},
                          {"size", size}, {"pid", 1},    {"stack", {"f", "_Z1gv"}}, {"operations", operations}};
  }
  test::TemporaryFolder folder_;
};

TEST_F(PostMortemTest, NamesTheRankThatWentAnotherWay) {
  const Call same{1, "all_reduce", "float32[10]"};
  leave(0, {same, {2, "all_reduce", "float32[10]", "running"}});
  leave(1, {same, {2, "broadcast", "float32[10]", "running"}});
  leave(2, {same, {2, "all_reduce", "float32[10]", "running"}});
  EXPECT_THAT(read_post_mortem(folder_.path()).findings,
              ElementsAre("at #2 of group world, ranks 0, 2 called all_reduce (float32[10]), but rank 1 went another "
                          "way: broadcast (float32[10])"));
}

TEST_F(PostMortemTest, NamesTheRankThatDidNotCome) {
  leave(0, {{1, "barrier", ""}, {2, "all_reduce", "float32[10]", "running"}});
  leave(1, {{1, "barrier", ""}, {2, "all_reduce", "float32[10]", "running"}});
  leave(2, {{1, "barrier", ""}});
  EXPECT_THAT(
      read_post_mortem(folder_.path()).findings,
      ElementsAre("rank 2 did not come to #2 of group world, all_reduce (float32[10]); its last was #1, barrier, "
                  "done; it was in f < g()"));
}

TEST_F(PostMortemTest, GatheringUnequalSizesIsNoFault) {
  leave(0, {{1, "all_gather", "float32[1]"}}, "job", 2);
  leave(1, {{1, "all_gather", "float32[2]"}}, "job", 2);
  EXPECT_THAT(read_post_mortem(folder_.path()).findings, IsEmpty());
}

TEST_F(PostMortemTest, SaysWhoLeftNothingAndForgetsOlderJobs) {
  leave(1, {{7, "broadcast", ""}}, "older");
  const auto hour_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(folder_.path() / "rank-1.json", hour_ago);
  leave(0, {{1, "barrier", ""}});
  const PostMortem found = read_post_mortem(folder_.path());
  EXPECT_THAT(found.findings, ElementsAre(HasSubstr("ranks 1, 2 left nothing")));
  EXPECT_EQ(nlohmann::json::parse(to_json(found))["ranks"].size(), 1);
}

TEST_F(PostMortemTest, AFileThatIsSomethingElseIsNamed) {
  std::ofstream(folder_.path() / "rank-0.json") << "[1, 2";
  try {
    read_post_mortem(folder_.path());
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rank-0.json"), HasSubstr("not what a rank leaves")));
  }
  EXPECT_THROW(read_post_mortem(folder_.path() / "nowhere"), UsageError);
}

}  // namespace
}  // namespace lockstep

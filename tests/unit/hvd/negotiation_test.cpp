// What ranks conclude from the lines of their journal.
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>

#include "hvd/negotiation.h"
#include "throws_with.h"

namespace lockstep::hvd {
namespace {

using test::ThrowsWith;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Line::Kind;

Line line(Kind kind, int rank, const std::string& name = "", const std::string& call = "sum of float32[2]") {
  return {kind, rank, 0, {.name = name, .kind = "allreduce", .call = call}};
}

std::vector<std::string> names(const std::vector<Request>& requests) {
  std::vector<std::string> result;
  for (const Request& request : requests) result.push_back(request.name);
  return result;
}

TEST(Negotiation, AnOperationIsAgreedOnWhenTheLastRankSubmitsIt) {
  Negotiation negotiation(2);
  EXPECT_THAT(names(negotiation.take(line(Kind::kSubmit, 0, "x"))), IsEmpty());
  EXPECT_THAT(names(negotiation.take(line(Kind::kSubmit, 1, "y"))), IsEmpty());
  EXPECT_THAT(negotiation.missing("x"), ElementsAre(1));
  EXPECT_THAT(names(negotiation.take(line(Kind::kSubmit, 0, "y"))), ElementsAre("y"));
  EXPECT_THAT(names(negotiation.take(line(Kind::kSubmit, 1, "x"))), ElementsAre("x"));
}

TEST(Negotiation, RanksThatWaitForDifferentThingsAreToldAtOnceAndEverAfter) {
  Negotiation negotiation(2);
  negotiation.take(line(Kind::kSubmit, 0, "x"));
  negotiation.take(line(Kind::kSubmit, 1, "y"));
  negotiation.take(line(Kind::kWait, 0, "x"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(
        [&] { negotiation.take(line(Kind::kWait, 1, "y")); },
        ThrowsWith<UsageError>("'x' (allreduce) was submitted by rank 0, and not by rank 1; 'y' (allreduce) was "
                               "submitted by rank 1, and not by rank 0"));
  }
}

TEST(Negotiation, ARankThatDoesNotWaitMayStillSubmit) {
  Negotiation negotiation(2);
  negotiation.take(line(Kind::kSubmit, 0, "x"));
  negotiation.take(line(Kind::kWait, 0, "x"));
  negotiation.take(line(Kind::kSubmit, 1, "y"));
  EXPECT_THAT(names(negotiation.take(line(Kind::kSubmit, 1, "x"))), ElementsAre("x"));
  // Rank 0's wait is over; rank 1 waits for what rank 0 can still submit.
  EXPECT_THAT(names(negotiation.take(line(Kind::kWait, 1, "y"))), IsEmpty());
  EXPECT_THAT(names(negotiation.take(line(Kind::kSubmit, 0, "y"))), ElementsAre("y"));
}

TEST(Negotiation, AWaitThatWasWrittenTooLateCountsForNothing) {
  Negotiation negotiation(2);
  negotiation.take(line(Kind::kSubmit, 0, "x"));
  negotiation.take(line(Kind::kSubmit, 1, "x"));
  negotiation.take(line(Kind::kWait, 0, "x"));
  negotiation.take(line(Kind::kSubmit, 1, "y"));
  EXPECT_THAT(names(negotiation.take(line(Kind::kWait, 1, "y"))), IsEmpty());
}

TEST(Negotiation, DifferentShapesUnderOneNameAreTold) {
  Negotiation negotiation(3);
  negotiation.take(line(Kind::kSubmit, 0, "x"));
  negotiation.take(line(Kind::kSubmit, 2, "x"));
  EXPECT_THAT([&] { negotiation.take(line(Kind::kSubmit, 1, "x", "sum of float32[3]")); },
              ThrowsWith<UsageError>("'x' on ranks 0, 2: sum of float32[2]; on rank 1: sum of float32[3]"));
}

TEST(Negotiation, ARankThatShutDownIsMissed) {
  Negotiation negotiation(3);
  negotiation.take(line(Kind::kSubmit, 0, "x"));
  negotiation.take(line(Kind::kLeave, 1));
  EXPECT_THAT([&] { negotiation.take(line(Kind::kWait, 0, "x")); },
              ThrowsWith<UsageError>("and not by ranks 1, 2, of which rank 1 shut down"));
}

TEST(Negotiation, JoinedRanksAreNotWaitedFor) {
  Negotiation negotiation(3);
  negotiation.take(line(Kind::kSubmit, 0, "x"));
  negotiation.take(line(Kind::kJoin, 1));
  EXPECT_THAT(names(negotiation.take(line(Kind::kSubmit, 2, "x"))), ElementsAre("x"));
  negotiation.take(line(Kind::kSubmit, 2, "y"));
  EXPECT_THAT(names(negotiation.take(line(Kind::kJoin, 0))), ElementsAre("y"));
  EXPECT_EQ(negotiation.joins(), 0);
  negotiation.take(line(Kind::kJoin, 2));
  EXPECT_EQ(negotiation.joins(), 1);
  EXPECT_EQ(negotiation.last_joined(), 2);
  // And now all take part again.
  EXPECT_THAT(names(negotiation.take(line(Kind::kSubmit, 0, "x"))), IsEmpty());
}

TEST(Line, SurvivesTheJournal) {
  const Line written{Kind::kSubmit, 3, 17, {"a \"name\"\n", "broadcast", "of int64[2]", 1, 4, 0, {2, 0}}};
  const Line read = Line::from_text(written.to_text());
  EXPECT_EQ(read.rank, 3);
  EXPECT_EQ(read.position, 17);
  EXPECT_EQ(read.request.name, written.request.name);
  EXPECT_THAT(read.request.sizes, ElementsAre(2, 0));
  EXPECT_THAT([] { Line::from_text("no line"); }, ThrowsWith<RuntimeError>("makes no sense"));
}

}  // namespace
}  // namespace lockstep::hvd

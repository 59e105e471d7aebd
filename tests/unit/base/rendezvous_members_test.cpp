#include <future>
#include <string>

#include "rendezvous_fixture.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using test::Rendezvous;
using test::ThrowsRuntimeError;
using test::ThrowsTimeoutError;
using ::testing::AllOf;
using ::testing::HasSubstr;

Member member(int rank, int size) {
  return {.id = {rank, size}, .host = "node" + std::to_string(rank), .pid = 4000 + rank};
}

TEST_F(Rendezvous, Join_MakesTheWorldFull) {
  RendezvousClient other = another();
  client.join(member(1, 2));
  EXPECT_EQ(client.members().size(), 1U);
  auto world = std::async(std::launch::async, [&] { return client.wait_for_world(10s); });
  other.join(member(0, 2));
  const auto members = world.get();
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].name(), "rank 0 (node0, pid 4000)");
  EXPECT_EQ(members[1].name(), "rank 1 (node1, pid 4001)");
}

TEST_F(Rendezvous, WaitForWorld_ThatTimesOutNamesWhoIsMissing) {
  EXPECT_THAT([&] { client.wait_for_world(0ms); }, ThrowsTimeoutError(HasSubstr("no rank has come")));
  client.join(member(1, 4));
  EXPECT_THAT([&] { client.wait_for_world(20ms); },
              ThrowsTimeoutError(AllOf(HasSubstr("3 of 4 ranks"), HasSubstr("rank 0, rank 2, rank 3 are missing"))));
}

TEST_F(Rendezvous, WaitForWorld_EndsWhenARankIsLost) {
  client.join(member(0, 3));
  another().join(member(1, 3));
  EXPECT_THAT([&] { client.wait_for_world(10s); }, ThrowsRuntimeError(HasSubstr("rank 1 (node1, pid 4001) was lost")));
}

TEST_F(Rendezvous, Join_RefusesASecondProcessOfTheSameRankAndNamesBoth) {
  client.join(member(1, 2));
  Member second = member(1, 2);
  second.host = "elsewhere";
  RendezvousClient other = another();
  EXPECT_THAT([&] { other.join(second); }, ThrowsRuntimeError(AllOf(HasSubstr("rank 1 (elsewhere, pid 4001)"),
                                                                    HasSubstr("rank 1 (node1, pid 4001)"))));
  EXPECT_THAT([&] { client.join(member(0, 2)); }, ThrowsRuntimeError(HasSubstr("has joined already")));
  other.join(member(0, 2));
  EXPECT_EQ(client.wait_for_world(0ms).size(), 2U);
}

TEST_F(Rendezvous, Join_RefusesAnotherSizeAndNamesBoth) {
  client.join(member(0, 2));
  EXPECT_THAT([&] { another().join(member(1, 4)); },
              ThrowsRuntimeError(AllOf(HasSubstr("rank 1 (node1, pid 4001) and rank 0 (node0, pid 4000)"),
                                       HasSubstr("4 and 2 ranks"))));
}

TEST_F(Rendezvous, Join_RefusesARankOutsideTheJob) {
  EXPECT_THROW(client.join(member(2, 2)), UsageError);
  EXPECT_THROW(client.join(member(-1, 2)), UsageError);
  EXPECT_THROW(client.join(member(0, 0)), UsageError);
}

TEST_F(Rendezvous, Leave_IsNoLossAndAllowsToJoinAgain) {
  EXPECT_THROW(client.leave(), RuntimeError);
  {
    RendezvousClient other = another();
    other.join(member(0, 1));
    other.leave();
  }
  EXPECT_TRUE(client.wait_for_loss(0, 20ms).empty());
  client.join(member(0, 1));
  EXPECT_EQ(client.wait_for_world(0ms).size(), 1U);
}

TEST_F(Rendezvous, WaitForLoss_ReturnsAllOnceThereAreMoreThanKnown) {
  const auto before = std::chrono::system_clock::now() - 1s;
  another().join(member(2, 4));
  const auto first = client.wait_for_loss(0, 10s);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].member.name(), "rank 2 (node2, pid 4002)");
  EXPECT_GT(first[0].when, before);
  auto more = std::async(std::launch::async, [&] { return client.wait_for_loss(1, 10s); });
  another().join(member(0, 4));
  EXPECT_EQ(more.get().size(), 2U);
  EXPECT_EQ(client.wait_for_loss(2, 20ms).size(), 2U);
  EXPECT_THAT([&] { another().join(member(2, 4)); }, ThrowsRuntimeError(HasSubstr("was lost in its place")));
}

TEST_F(Rendezvous, Connections_ThatHaveNotJoinedMayEndWithoutLoss) {
  client.join(member(0, 1));
  another().set("key", "");
  EXPECT_TRUE(client.wait_for_loss(0, 20ms).empty());
}

}  // namespace
}  // namespace lockstep

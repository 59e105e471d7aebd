// Jobs of several nodes, all of them on this machine's loopback: coming, not coming, disagreeing, and being lost.
#include <poll.h>

#include <csignal>
#include <list>

#include <fmt/format.h>

#include "base/rendezvous_socket.h"
#include "running_job.h"

namespace lockstep::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Nodes : public ::testing::Test {
 protected:
  // The command on a node; the one with number 0 leads.
  RunningCommand& start(int number, Words flags, const Words& program) {
    if (number >= 0) flags.insert(flags.end(), {"--node-rank", std::to_string(number)});
    flags.insert(flags.end(), {"--master-addr", "127.0.0.1", "--master-port", port_});
    return commands_.emplace_back(
        run_words(flags, program),
        std::map<std::string, std::string>{{"MARKS", marks_.folder().string()}, {"HOME", home_.path().string()}});
  }

  const std::string port_ = free_port();
  TemporaryFolder home_;
  Marks marks_;
  std::list<RunningCommand> commands_;
};

TEST_F(Nodes, EachGetTheirShareOfTheRanks) {
  const Words flags = {"--nnodes", "3", "-n", "5", "--label"};
  const Words program = script("echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE on $GROUP_RANK/$GROUP_WORLD_SIZE");
  RunningCommand& third = start(2, flags, program);  // before the leader: it waits for it
  RunningCommand& second = start(1, flags, program);
  RunningCommand& leader = start(0, flags, program);
  for (RunningCommand* node : {&leader, &second, &third}) EXPECT_EQ(node->wait(kSoon), 0) << node->err();
  EXPECT_THAT(leader.out(), AllOf(HasSubstr("[0/5] 0/5 0/2 on 0/3\n"), HasSubstr("[1/5] 1/5 1/2 on 0/3\n")));
  EXPECT_THAT(second.out(), AllOf(HasSubstr("[2/5] 2/5 0/2 on 1/3\n"), HasSubstr("[3/5] 3/5 1/2 on 1/3\n")));
  EXPECT_EQ(third.out(), "[4/5] 4/5 0/1 on 2/3\n");
}

TEST_F(Nodes, ThatDisagreeOnTheSize_EndTheJobOnAll) {
  RunningCommand& leader = start(0, {"--nnodes", "2", "-n", "4"}, script("mark up"));
  RunningCommand& other = start(1, {"--nnodes", "2", "-n", "6"}, script("mark up"));
  for (RunningCommand* node : {&leader, &other}) {
    EXPECT_EQ(node->wait(kSoon), 2);
    EXPECT_THAT(node->err(), AllOf(HasSubstr("the nodes do not agree on the number of ranks"), HasSubstr("-n 6"),
                                   HasSubstr("-n 4"), HasSubstr("node 1 (")));
  }
  EXPECT_TRUE(marks_.of("up").empty());
}

TEST_F(Nodes, WithTheSameNumber_EndTheJobOnAll) {
  const Words flags = {"--nnodes", "3"};
  RunningCommand& leader = start(0, flags, script("mark up"));
  RunningCommand& first = start(1, flags, script("mark up"));
  RunningCommand& second = start(1, flags, script("mark up"));
  for (RunningCommand* node : {&leader, &first, &second}) {
    EXPECT_EQ(node->wait(kSoon), 2);
    EXPECT_THAT(node->err(), HasSubstr("two nodes say that they are node 1"));
  }
  EXPECT_TRUE(marks_.of("up").empty());
}

TEST_F(Nodes, ThatNeverCome_AreNamedWithTheDeadline) {
  const Words flags = {"--nnodes", "3", "--join-timeout", "2"};
  RunningCommand& leader = start(0, flags, script("mark up"));
  RunningCommand& other = start(1, flags, script("mark up"));
  EXPECT_EQ(leader.wait(kSoon), 1);
  EXPECT_THAT(leader.err(), AllOf(HasSubstr("2 nodes of 3 came within 2.0 s"), HasSubstr("node 2 did not come")));
  EXPECT_EQ(other.wait(kSoon), 1);
  EXPECT_THAT(other.err(), HasSubstr("node 2 did not come"));
  EXPECT_TRUE(marks_.of("up").empty());
}

TEST_F(Nodes, WithoutALeader_SayWhereItShouldBe) {
  RunningCommand& node = start(1, {"--nnodes", "2", "--join-timeout", "1"}, script("mark up"));
  EXPECT_EQ(node.wait(kSoon), 1);
  EXPECT_THAT(node.err(), HasSubstr("the node that leads did not answer at 127.0.0.1:" + port_ + " within 1 s"));
}

TEST_F(Nodes, WithoutTheProgram_SaySoAtOnce) {
  const Words flags = {"--nnodes", "2", "--join-timeout", "2"};
  RunningCommand& leader = start(0, flags, script("mark up"));
  RunningCommand& other = start(1, flags, {"/no/such"});
  EXPECT_EQ(other.wait(kSoon), 2);
  EXPECT_THAT(other.err(), HasSubstr("program '/no/such' does not exist"));
  EXPECT_EQ(leader.wait(kSoon), 1);
  EXPECT_THAT(leader.err(), HasSubstr("node 1 did not come"));
}

// A file that has its run bit, and whose interpreter is missing: only exec can tell.
TEST_F(Nodes, WhoseProgramCannotBeExecuted_EndTheJobOnAll) {
  const std::filesystem::path program = home_.write("program", "#!/no/such/interpreter\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  RunningCommand& leader = start(0, {"--nnodes", "2"}, script(kSleep));
  RunningCommand& other = start(1, {"--nnodes", "2"}, {program.string()});
  for (RunningCommand* node : {&leader, &other}) {
    EXPECT_EQ(node->wait(kSoon), 1);
    EXPECT_THAT(node->err(), HasSubstr("cannot execute '" + program.string() + "'"));
    EXPECT_THAT(node->processes(), ::testing::IsEmpty());
  }
}

TEST_F(Nodes, WithAnotherKey_AreTurnedAway) {
  const TemporaryFolder folder;
  const std::filesystem::path token = folder.write("token", std::string(64, 'a') + "\n");
  std::filesystem::permissions(token, std::filesystem::perms::owner_read);
  RunningCommand& leader = start(0, {"--nnodes", "2", "--join-timeout", "3"}, script("mark up"));
  RunningCommand& stranger =
      start(1, {"--nnodes", "2", "--join-timeout", "3", "--token-file", token.string()}, script("mark up"));
  EXPECT_EQ(stranger.wait(kSoon), 1);
  EXPECT_THAT(stranger.err(), HasSubstr("token"));
  EXPECT_EQ(leader.wait(kSoon), 1);
  EXPECT_TRUE(marks_.of("up").empty());
}

// Somebody holds the leader's port and never says a word, so that each try to connect takes long.
class EarlyNode : public Nodes {
 protected:
  // Returns when it has called there.
  RunningCommand& start_and_hear_it_call() {
    RunningCommand& node = start(1, {"--nnodes", "2"}, script("mark up"));
    pollfd call{.fd = door_.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&call, 1, static_cast<int>(kSoon / 1ms)), 1) << node.err();
    return node;
  }

  const UniqueFd door_ = rendezvous::listen_on("127.0.0.1", std::stoi(port_));
};

TEST_F(EarlyNode, EndsWithItsGuardian) {
  RunningCommand& node = start_and_hear_it_call();
  ASSERT_EQ(node.processes().size(), 2U);
  node.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return node.processes().empty(); }, kPromised));
}

class AskedEarlyNode : public EarlyNode, public ::testing::WithParamInterface<int> {};

TEST_P(AskedEarlyNode, EndsAtOnce) {
  RunningCommand& node = start_and_hear_it_call();
  node.signal(GetParam());
  EXPECT_EQ(node.wait(kPromised), 128 + GetParam());
  EXPECT_THAT(node.err(), ::testing::Not(HasSubstr("error")));
  EXPECT_THAT(node.processes(), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(BySignal, AskedEarlyNode, ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGUSR1),
                         [](const auto& test) { return fmt::format("Number{}", test.param); });

class LostNode : public Nodes, public ::testing::WithParamInterface<bool> {};

TEST_P(LostNode, IsNamedAndTheJobEnds) {
  const bool of_guardian = GetParam();
  RunningCommand& leader = start(0, {"--nnodes", "2"}, script(kSleep));
  RunningCommand& other = start(1, {"--nnodes", "2"}, script(kWithRunaway));
  ASSERT_EQ(marks_.await("up", 2).size(), 2U) << leader.err();
  ::kill(of_guardian ? other.pid() : children_of(other.pid()).at(0), SIGKILL);
  EXPECT_EQ(leader.wait(kPromised), 1);
  EXPECT_THAT(leader.err(),
              AllOf(HasSubstr("error: node 1 ("), HasSubstr("and rank 1 of 2 with it: it closed the connection")));
  for (const RunningCommand* node : {&leader, &other}) {
    EXPECT_TRUE(eventually([&] { return node->processes().empty(); }, kPromised));
  }
}

TEST_P(LostNode, WhichLed_EndsTheOthers) {
  const bool of_guardian = GetParam();
  RunningCommand& leader = start(0, {"--nnodes", "2"}, script(kSleep));
  RunningCommand& other = start(1, {"--nnodes", "2"}, script(kStubborn));
  ASSERT_EQ(marks_.await("up", 2).size(), 2U) << leader.err();
  ::kill(of_guardian ? leader.pid() : children_of(leader.pid()).at(0), SIGKILL);
  EXPECT_EQ(other.wait(kPromised), 1);
  EXPECT_THAT(other.err(), HasSubstr("the node that leads the job (127.0.0.1:" + port_ + ") was lost"));
  for (const RunningCommand* node : {&leader, &other}) {
    EXPECT_TRUE(eventually([&] { return node->processes().empty(); }, kPromised));
  }
}

INSTANTIATE_TEST_SUITE_P(BySigkill, LostNode, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "OfItsGuardian" : "OfItsBody"; });

TEST_F(Nodes, WhereTheUserInterrupts_EndTheWholeJob) {
  RunningCommand& leader = start(0, {"--nnodes", "2"}, script(kSleep));
  RunningCommand& other = start(1, {"--nnodes", "2"}, script(kSleep));
  ASSERT_EQ(marks_.await("up", 2).size(), 2U) << leader.err();
  other.signal(SIGINT);
  for (RunningCommand* node : {&leader, &other}) {
    EXPECT_EQ(node->wait(kPromised), 128 + SIGINT);
    EXPECT_THAT(node->processes(), ::testing::IsEmpty());
  }
}

TEST_F(Nodes, AreToldOfASignalForTheRanks) {
  const Words program = script("trap 'mark saved; exit 75' USR1; mark up; while :; do sleep 0.05; done");
  RunningCommand& leader = start(0, {"--nnodes", "2", "--grace", "60"}, program);
  RunningCommand& other = start(1, {"--nnodes", "2", "--grace", "60"}, program);
  ASSERT_EQ(marks_.await("up", 2).size(), 2U) << leader.err();
  leader.signal(SIGUSR1);
  for (RunningCommand* node : {&leader, &other}) EXPECT_EQ(node->wait(kSoon), 75);
  EXPECT_EQ(marks_.of("saved").size(), 2U);
}

TEST_F(Nodes, StartTheirRanksAgainTogether) {
  const Words flags = {"--nnodes", "2", "--max-restarts", "3"};
  const Words program = {program_path("../tests/rank_in_touch"), marks_.folder().string()};
  RunningCommand& leader = start(0, flags, program);
  RunningCommand& other = start(1, flags, program);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto ranks = marks_.await("up", 2);
    ASSERT_EQ(ranks.size(), 2U) << leader.err();
    marks_.forget();
    ::kill(ranks.at(attempt % 2), SIGKILL);
  }
  ASSERT_EQ(marks_.await("up", 2).size(), 2U) << leader.err();
  EXPECT_THAT(leader.err(), HasSubstr("(3 of 3 restarts)"));
  leader.signal(SIGTERM);
  for (RunningCommand* node : {&leader, &other}) EXPECT_TRUE(node->wait(kPromised).has_value());
  EXPECT_THAT(leader.err(), ::testing::Not(HasSubstr("given up")));
}

TEST_F(Nodes, NameARankThatIsStuckElsewhere) {
  const Words flags = {"--nnodes", "2", "--heartbeat", "2"};
  const Words program = script("mark up; test $RANK = 1 && exec sleep 1000; while :; do echo alive; sleep 0.1; done");
  RunningCommand& leader = start(0, flags, program);
  RunningCommand& other = start(1, flags, program);
  for (RunningCommand* node : {&leader, &other}) EXPECT_EQ(node->wait(kSoon), 1);
  EXPECT_THAT(leader.err(), AllOf(HasSubstr("rank 1 of 2 failed first: it has been silent for"),
                                  HasSubstr(fmt::format("pid {}", marks_.of("up").at(1)))));
}

TEST_F(Nodes, OfAnElasticJob_AreThoseThatAreThere) {
  const Words flags = {"--nnodes", "1:4", "--max-restarts", "3"};
  const Words program = script("mark of$WORLD_SIZE; exec sleep 1000");
  RunningCommand& leader = start(0, flags, program);
  RunningCommand& second = start(-1, flags, program);
  ASSERT_EQ(marks_.await("of2", 2).size(), 2U) << leader.err();

  RunningCommand& third = start(-1, flags, program);  // its part begins with the next attempt
  marks_.forget();
  second.signal(SIGKILL);
  ASSERT_EQ(marks_.await("of2", 2).size(), 2U) << leader.err();

  third.signal(SIGKILL);
  ASSERT_EQ(marks_.await("of1", 1).size(), 1U) << leader.err();
  EXPECT_THAT(leader.err(), HasSubstr("(2 of 3 restarts)"));
  leader.signal(SIGTERM);
  EXPECT_EQ(leader.wait(kPromised), 128 + SIGTERM);
}

}  // namespace
}  // namespace lockstep::test

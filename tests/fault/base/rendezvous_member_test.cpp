// Members, which hold the token, that die or break the rules.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/rendezvous_client.h>
#include <lockstep/base/rendezvous_server.h>

#include "base/rendezvous_protocol.h"
#include "raw_peer.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using rendezvous::Operation;
using rendezvous::Writer;
using test::RawPeer;

struct BadMember : testing::Test {
  const Token token = Token::generate();
  RendezvousServer server{token, {.limits = {.transfer_time = 300ms}}};
  RendezvousClient client{token, {.port = server.port()}};
  RawPeer peer{server.port()};

  void SetUp() override {
    peer.prove(token);
    client.set("key", "value");
  }

  // Expects that the peer was dropped, without a reply, and that nothing else has changed.
  void TearDown() override {
    EXPECT_EQ(peer.receive_to_the_end(), "");
    EXPECT_EQ(client.get("key", 0ms), "value");
    EXPECT_EQ(client.num_keys(), 1);
  }
};

TEST_F(BadMember, WhoAnnouncesAHugeFrameIsDropped) {
  peer.send("\xff\xff\xff\xff");
}

TEST_F(BadMember, WhoAnnouncesAnEmptyFrameIsDropped) {
  peer.send(std::string(4, '\0'));
}

TEST_F(BadMember, WhoAsksForNoKnownOperationIsDropped) {
  peer.send(Writer(static_cast<Operation>(200)).bytes("key").take());
}

TEST_F(BadMember, WhoseFieldIsLongerThanItsFrameIsDropped) {
  peer.send(Writer(Operation::kDeleteKey).count(1000).take());
}

TEST_F(BadMember, WhoSendsMoreFieldsThanTheOperationHasIsDropped) {
  peer.send(Writer(Operation::kDeleteKey).bytes("key").bytes("more").take());
}

TEST_F(BadMember, WhoJoinsAsAnImpossibleRankIsDropped) {
  peer.send(Writer(Operation::kJoin).member({.id = {7, 2}, .host = "host", .pid = 1}).take());
}

TEST_F(BadMember, WhoAnnouncesMoreKeysThanItSendsIsDropped) {
  peer.send(Writer(Operation::kWait).count(60'000).bytes("key").take());
}

TEST_F(BadMember, WhoStopsInTheMiddleOfAFrameIsDropped) {
  peer.send(Writer(Operation::kSet).bytes("half").bytes(std::string(1000, 'x')).take().substr(0, 500));
}

TEST(SlowMember, WhoDoesNotTakeItsReplyIsDropped) {
  const Token token = Token::generate();
  const RendezvousServer server(token, {.limits = {.transfer_time = 3s}});  // enough for the value to be set
  RendezvousClient client(token, {.port = server.port()});
  client.set("large", std::string(16 << 20, 'x'));
  RawPeer peer(server.port());
  peer.prove(token);
  client.join({.id = {1, 2}, .host = "host", .pid = 1});
  peer.send(Writer(Operation::kJoin).member({.id = {0, 2}, .host = "host", .pid = 2}).take());
  peer.receive(rendezvous::kHeaderSize + 1);
  peer.send(Writer(Operation::kGet).bytes("large").timeout(0ms).take());
  EXPECT_EQ(client.wait_for_loss(0, 30s).size(), 1U);
}

// A child process that joins as rank 1 of 2 and then only waits.
class JoinedChild {
 public:
  JoinedChild(const Token& token, int port) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      RendezvousClient client(token, {.port = port});
      client.join({.id = {1, 2}, .host = "child", .pid = ::getpid()});
      for (;;) ::pause();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(1);
  }
  JoinedChild(const JoinedChild&) = delete;
  JoinedChild& operator=(const JoinedChild&) = delete;
  ~JoinedChild() {
    kill();
    ::waitpid(pid_, nullptr, 0);
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST(LostMember, IsNoticedWithinASecondOfBeingKilled) {
  const Token token = Token::generate();
  // The child is forked while this process has one thread; the server starts after it, on a socket that listens
  // already.
  UniqueFd listener = rendezvous::listen_on("127.0.0.1", 0);
  const int port = rendezvous::local_endpoint(listener.get()).port;
  const JoinedChild child(token, port);
  const RendezvousServer server(token, std::move(listener));
  RendezvousClient client(token, {.port = port});
  client.join({.id = {0, 2}, .host = "parent", .pid = ::getpid()});
  client.wait_for_world(30s);
  EXPECT_TRUE(client.wait_for_loss(0, 50ms).empty());
  child.kill();
  const auto lost = client.wait_for_loss(0, 1s);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].member.id.rank, 1);
  EXPECT_EQ(lost[0].member.pid, child.pid());
}

}  // namespace
}  // namespace lockstep

// Peers that do not hold the job's token.
#include <arpa/inet.h>

#include <list>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/rendezvous_client.h>
#include <lockstep/base/rendezvous_server.h>

#include "raw_peer.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using test::RawPeer;
using ::testing::HasSubstr;

struct Stranger : testing::Test {
  const Token token = Token::generate();
  RendezvousServer server{token, {.limits = {.proof_time = 1s, .strangers = 8}}};

  void expect_that_members_are_served() {
    RendezvousClient client(token, {.port = server.port()});
    EXPECT_EQ(client.add("visits", 1), 1);
    EXPECT_EQ(client.num_keys(), 1);
  }

  // Sends `bytes` after the server's hello; expects to be turned away without another word.
  void expect_to_be_turned_away(const std::string& bytes) {
    RawPeer peer(server.port());
    peer.take_nonce();
    peer.send(bytes);
    EXPECT_EQ(peer.receive_to_the_end(), "");
    EXPECT_EQ(server.turned_away(), 1U);
    expect_that_members_are_served();
  }
};

TEST_F(Stranger, WhoSaysNothingIsTurnedAway) {
  expect_to_be_turned_away("");
}

TEST_F(Stranger, WhoSaysOneByteIsTurnedAway) {
  expect_to_be_turned_away("L");
}

TEST_F(Stranger, WhoSpeaksHttpIsTurnedAway) {
  expect_to_be_turned_away(
      "GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: a browser of some kind\r\nAccept: */*\r\n\r\n");
}

TEST_F(Stranger, WhoSendsRandomBytesIsTurnedAway) {
  expect_to_be_turned_away(random_bytes(64));
}

TEST_F(Stranger, WhoSendsMegabytesIsTurnedAway) {
  RawPeer peer(server.port());
  EXPECT_THROW(peer.send(random_bytes(16 << 20)), rendezvous::ConnectionError);
  expect_that_members_are_served();
}

TEST_F(Stranger, WithAnotherTokenIsTurnedAway) {
  RawPeer peer(server.port());
  peer.send(rendezvous::answer_to(Token::generate(), peer.take_nonce()));
  EXPECT_EQ(peer.receive_to_the_end(), "");
  expect_that_members_are_served();
}

TEST_F(Stranger, WhoRepeatsAMembersAnswerIsTurnedAway) {
  const std::string overheard = RawPeer(server.port()).prove(token);
  expect_to_be_turned_away(overheard);
}

TEST_F(Stranger, InNumbersCannotKeepMembersOut) {
  std::list<RawPeer> silent;
  while (silent.size() < 100) silent.emplace_back(server.port());
  expect_that_members_are_served();
}

TEST(StrangersServer, IsRecognizedByAClient) {
  const UniqueFd listener = rendezvous::listen_on("127.0.0.1", 0);
  const int port = rendezvous::local_endpoint(listener.get()).port;
  std::thread stranger([&] {
    const UniqueFd socket(::accept(listener.get(), nullptr, nullptr));
    rendezvous::send_all(socket.get(), "SSH-2.0-OpenSSH_9.2\r\n", rendezvous::Clock::now() + RawPeer::kPatience);
    EXPECT_THROW(rendezvous::receive_exactly(socket.get(), 1, rendezvous::Clock::now() + RawPeer::kPatience),
                 rendezvous::ConnectionError)
        << "the client said something to a stranger";
  });
  EXPECT_THAT([&] { RendezvousClient(Token::generate(), {.port = port}); },
              testing::Throws<RuntimeError>(testing::Property(&RuntimeError::what, HasSubstr("not a rendezvous"))));
  stranger.join();
}

TEST(StrangersServer, ThatPretendsToBeTheRendezvousIsRecognized) {
  const UniqueFd listener = rendezvous::listen_on("127.0.0.1", 0);
  const int port = rendezvous::local_endpoint(listener.get()).port;
  std::thread stranger([&] {
    const auto deadline = rendezvous::Clock::now() + RawPeer::kPatience;
    const UniqueFd socket(::accept(listener.get(), nullptr, nullptr));
    rendezvous::send_all(socket.get(), rendezvous::hello(random_bytes(rendezvous::kNonceSize)), deadline);
    const std::string answer = rendezvous::receive_exactly(socket.get(), rendezvous::kAnswerSize, deadline);
    rendezvous::send_all(socket.get(), answer.substr(rendezvous::kNonceSize), deadline);  // the client's own proof
  });
  EXPECT_THAT([&] { RendezvousClient(Token::generate(), {.port = port}); },
              testing::Throws<RuntimeError>(testing::Property(&RuntimeError::what, HasSubstr("different tokens"))));
  stranger.join();
}

TEST(StrangersServer, ThatSaysNothingIsGivenUp) {
  const UniqueFd listener = rendezvous::listen_on("127.0.0.1", 0);
  const int port = rendezvous::local_endpoint(listener.get()).port;
  EXPECT_THAT([&] { RendezvousClient(Token::generate(), {.port = port, .connect_timeout = 100ms}); },
              testing::Throws<RuntimeError>(testing::Property(&RuntimeError::what, HasSubstr("no answer"))));
}

}  // namespace
}  // namespace lockstep

#include <unistd.h>

#include <future>
#include <memory>
#include <string>

#include "rendezvous_fixture.h"

#include "base/rendezvous_socket.h"

namespace lockstep {
namespace {

using namespace std::chrono_literals;
using test::Rendezvous;
using test::ThrowsRuntimeError;
using test::ThrowsTimeoutError;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(Rendezvous, ListensOnLoopbackAtAPortOfTheKernelsChoice) {
  EXPECT_EQ(server.address(), "127.0.0.1");
  EXPECT_GT(server.port(), 0);
}

TEST_F(Rendezvous, Client_WithAnotherTokenIsToldSo) {
  EXPECT_THAT([&] { RendezvousClient(Token::generate(), {.port = server.port()}); },
              ThrowsRuntimeError(AllOf(HasSubstr("different tokens"), HasSubstr(std::to_string(server.port())))));
  EXPECT_EQ(server.turned_away(), 1U);
}

TEST(RendezvousClient, WaitsForAServerThatComesLater) {
  const Token token = Token::generate();
  const int port = RendezvousServer(token).port();
  auto value = std::async(std::launch::async, [&] { return RendezvousClient(token, {.port = port}).get("key", 10s); });
  EXPECT_EQ(value.wait_for(30ms), std::future_status::timeout);
  const RendezvousServer server(token, {.port = port});
  RendezvousClient(token, {.port = port}).set("key", "value");
  EXPECT_EQ(value.get(), "value");
}

TEST(RendezvousClient, GivesUpWhenNobodyAnswers) {
  const Token token = Token::generate();
  const int port = RendezvousServer(token).port();
  EXPECT_THAT([&] { RendezvousClient(token, {.port = port, .connect_timeout = 50ms}); },
              ThrowsTimeoutError(AllOf(HasSubstr("cannot reach"), HasSubstr("refused"), HasSubstr("50 ms"))));
  EXPECT_THROW(RendezvousClient(token, {.host = "not a host", .port = port}), UsageError);
}

TEST(RendezvousClient, SaysThatTheServerIsGone) {
  const Token token = Token::generate();
  auto server = std::make_unique<RendezvousServer>(token);
  RendezvousClient client(token, {.port = server->port()});
  auto waiting = std::async(std::launch::async, [&] { client.get("never", 60s); });
  EXPECT_EQ(waiting.wait_for(20ms), std::future_status::timeout);
  server.reset();
  EXPECT_THAT([&] { waiting.get(); }, ThrowsRuntimeError(AllOf(HasSubstr("is lost"), HasSubstr("next:"))));
  EXPECT_THAT([&] { client.set("key", ""); }, ThrowsRuntimeError(HasSubstr("has ended")));
}

TEST_F(Rendezvous, Close_EndsACallThatIsUnderWay) {
  auto waiting = std::async(std::launch::async, [&] { client.get("never", 60s); });
  EXPECT_EQ(waiting.wait_for(20ms), std::future_status::timeout);
  client.close();
  EXPECT_THROW(waiting.get(), RuntimeError);
  EXPECT_THROW(client.set("key", ""), RuntimeError);
}

TEST(RendezvousServer, ServesByName) {
  const Token token = Token::generate();
  const RendezvousServer server(token, {.address = "localhost"});
  RendezvousClient(token, {.host = "localhost", .port = server.port()}).set("key", "");
}

TEST(RendezvousServer, ServesOnIpv6) {
  try {
    rendezvous::listen_on("::1", 0);
  } catch (const RuntimeError& error) {
    GTEST_SKIP() << "this machine has no IPv6: " << error.what();
  }
  const Token token = Token::generate();
  const RendezvousServer server(token, {.address = "::1"});
  EXPECT_EQ(server.address(), "::1");
  RendezvousClient(token, {.host = "::1", .port = server.port()}).set("key", "");
}

TEST(RendezvousServer, TakesOverASocketThatListens) {
  const Token token = Token::generate();
  UniqueFd socket = rendezvous::listen_on("127.0.0.1", 0);
  const int port = rendezvous::local_endpoint(socket.get()).port;
  const RendezvousServer server(token, std::move(socket));
  EXPECT_EQ(server.port(), port);
  RendezvousClient(token, {.port = port}).set("key", "");
  EXPECT_THROW(RendezvousServer(token, UniqueFd(::dup(0))), UsageError);
}

TEST(RendezvousServer, RefusesAllAddressesAndAPortThatIsTaken) {
  const Token token = Token::generate();
  EXPECT_THROW(RendezvousServer(token, {.address = "0.0.0.0"}), UsageError);
  const RendezvousServer server(token);
  EXPECT_THAT([&] { RendezvousServer(token, {.port = server.port()}); },
              ThrowsRuntimeError(HasSubstr("choose another port")));
}

TEST(InterfaceAddress, IsThatOfTheNamedInterface) {
  EXPECT_EQ(interface_address("lo"), "127.0.0.1");
  EXPECT_THAT([] { interface_address("none0"); },
              testing::Throws<UsageError>(testing::Property(&UsageError::what, HasSubstr("lo"))));
}

}  // namespace
}  // namespace lockstep

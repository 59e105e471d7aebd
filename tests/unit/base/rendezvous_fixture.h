#pragma once
#include <gmock/gmock.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/rendezvous_client.h>
#include <lockstep/base/rendezvous_server.h>

namespace lockstep::test {

// A server, a client of it, and more clients as they are needed.
struct Rendezvous : testing::Test {
  const Token token = Token::generate();
  RendezvousServer server{token};
  RendezvousClient client{token, {.port = server.port()}};

  RendezvousClient another() { return {token, {.port = server.port()}}; }
};

template <typename Matcher>
auto ThrowsRuntimeError(Matcher text) {
  return testing::Throws<RuntimeError>(testing::Property(&RuntimeError::what, text));
}

template <typename Matcher>
auto ThrowsTimeoutError(Matcher text) {
  return testing::Throws<TimeoutError>(testing::Property(&TimeoutError::what, text));
}

}  // namespace lockstep::test

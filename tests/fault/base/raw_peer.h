#pragma once
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <string_view>

#include <lockstep/base/token.h>

#include "base/rendezvous_auth.h"
#include "base/rendezvous_socket.h"

namespace lockstep::test {

// A connection to a rendezvous whose bytes are the test's own.
class RawPeer {
 public:
  static constexpr std::chrono::seconds kPatience{10};

  explicit RawPeer(int port) : socket_(rendezvous::connect_to("127.0.0.1", port, deadline())) {}

  // Throws ConnectionError when the server has closed.
  void send(std::string_view bytes) { rendezvous::send_all(socket_.get(), bytes, deadline()); }
  std::string receive(std::size_t size) { return rendezvous::receive_exactly(socket_.get(), size, deadline()); }

  // The server's nonce.
  std::string take_nonce() { return rendezvous::nonce_in(receive(rendezvous::kHelloSize)); }

  // Returns the answer that was sent.
  std::string prove(const Token& token) {
    std::string answer = rendezvous::answer_to(token, take_nonce());
    send(answer);
    receive(rendezvous::kProofSize);
    return answer;
  }

  // Everything that the server still sends until it closes. Throws ConnectionError when it does not close.
  std::string receive_to_the_end() {
    std::string bytes;
    try {
      for (;;) bytes += receive(1);
    } catch (const rendezvous::ConnectionError& error) {
      if (error.cause() == rendezvous::ConnectionError::Cause::kTimeout) throw;
    }
    return bytes;
  }

  // Ends with a reset instead of a goodbye.
  void reset() {
    const linger none{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    socket_.reset();
  }

 private:
  static rendezvous::Clock::time_point deadline() { return rendezvous::Clock::now() + kPatience; }

  UniqueFd socket_;
};

}  // namespace lockstep::test

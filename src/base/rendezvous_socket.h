// Sockets for the rendezvous: made, tuned, and used with deadlines. No function raises SIGPIPE or minds EINTR.
#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

namespace lockstep::rendezvous {

using Clock = std::chrono::steady_clock;

struct Endpoint {
  std::string address;  // numeric
  int port = 0;

  bool operator==(const Endpoint&) const = default;
  std::string text() const;  // "127.0.0.1:29500", "[::1]:29500"
};

// Empty when the socket has none, or has none any more.
Endpoint local_endpoint(int socket);
Endpoint remote_endpoint(int socket);

// A socket that listens on one address. Throws UsageError when it cannot be resolved or stands for all of the host's,
// RuntimeError when it cannot be listened on.
UniqueFd listen_on(const std::string& host, int port);

// Small messages leave at once, and a peer whose host has vanished is noticed in 15 s.
void tune(int socket);

// A connection could not be made, or broke.
class ConnectionError : public RuntimeError {
 public:
  enum class Cause { kClosed, kReset, kTimeout };  // by the peer in order; otherwise broken; not done in time

  ConnectionError(Cause cause, const std::string& message) : RuntimeError(message), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// The functions below wait until `deadline` and throw ConnectionError. `connect_to` tries each address of the host;
// throws UsageError when it has none.
UniqueFd connect_to(const std::string& host, int port, Clock::time_point deadline);
void send_all(int socket, std::string_view bytes, Clock::time_point deadline);
std::string receive_exactly(int socket, std::size_t size, Clock::time_point deadline);

}  // namespace lockstep::rendezvous

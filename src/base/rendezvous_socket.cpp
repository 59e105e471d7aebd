#include "rendezvous_socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

#include <fmt/format.h>

namespace lockstep::rendezvous {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
using Cause = ConnectionError::Cause;

AddressList resolve(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error == EAI_AGAIN) throw ConnectionError(Cause::kTimeout, ::gai_strerror(error));
  if (error != 0) {
    throw UsageError({.message = fmt::format("cannot resolve '{}': {}", host, ::gai_strerror(error)),
                      .next = "give a host name or an address that this machine knows"});
  }
  return {found, &::freeaddrinfo};
}

template <typename GetName>
Endpoint endpoint(int socket, GetName get_name) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (get_name(socket, generic, &length) != 0 || ::getnameinfo(generic, length, host.data(), host.size(), port.data(),
                                                               port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {.address = host.data(), .port = std::atoi(port.data())};
}

void set_option(int socket, int level, int option, int value) {
  if (::setsockopt(socket, level, option, &value, sizeof(value)) != 0) {
    throw system_error("cannot set an option of a socket", errno);
  }
}

// Waits until the socket can be read or written, or has failed.
void await(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd item{.fd = socket, .events = events, .revents = 0};
    const int ready =
        ::poll(&item, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max())));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) throw system_error("cannot wait for a socket", errno);
    if (ready == 0 && left <= 0) throw ConnectionError(Cause::kTimeout, "no answer in time");
  }
}

UniqueFd connect_to_address(const addrinfo& address, Clock::time_point deadline) {
  UniqueFd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw system_error("cannot make a socket", errno);
  int error = ::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS || error == EINTR) {
    await(socket.get(), POLLOUT, deadline);
    socklen_t length = sizeof(error);
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  }
  // A connection to a port of the kernel's own range may come out at itself while nobody listens there.
  if (error == 0 && local_endpoint(socket.get()) == remote_endpoint(socket.get())) error = ECONNREFUSED;
  if (error != 0) throw ConnectionError(Cause::kReset, std::strerror(error));
  tune(socket.get());
  return socket;
}

}  // namespace

std::string Endpoint::text() const {
  if (address.empty()) return "an unknown address";
  return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port)
                                                : fmt::format("[{}]:{}", address, port);
}

Endpoint local_endpoint(int socket) {
  return endpoint(socket, &::getsockname);
}

Endpoint remote_endpoint(int socket) {
  return endpoint(socket, &::getpeername);
}

UniqueFd listen_on(const std::string& host, int port) {
  const AddressList addresses = resolve(host, port, AI_PASSIVE);
  UniqueFd socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw system_error("cannot make a socket", errno);
  set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  const auto refuse_on_error = [&](int result) {
    if (result == 0) return;
    const int error = errno;
    throw RuntimeError(
        {.message = fmt::format("cannot listen on {}: {}", Endpoint{host, port}.text(), std::strerror(error)),
         .next = error == EADDRINUSE ? "choose another port, or end the program that holds it"
                                     : "choose an address of this host"});
  };
  refuse_on_error(::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen));
  if (const std::string address = local_endpoint(socket.get()).address; address == "0.0.0.0" || address == "::") {
    throw UsageError({.message = "a rendezvous listens on one address, not on all of a host",
                      .found = address,
                      .next = "give an address, or the name of a network interface"});
  }
  refuse_on_error(::listen(socket.get(), SOMAXCONN));
  return socket;
}

void tune(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 12'000);
}

UniqueFd connect_to(const std::string& host, int port, Clock::time_point deadline) {
  const AddressList addresses = resolve(host, port, 0);
  std::ptrdiff_t left = 0;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) ++left;
  for (const addrinfo* address = addresses.get();; address = address->ai_next, --left) {
    try {
      // An address that does not answer leaves their share of the time to the others.
      return connect_to_address(*address, Clock::now() + (deadline - Clock::now()) / left);
    } catch (const ConnectionError&) {
      if (address->ai_next == nullptr) throw;
    }
  }
}

void send_all(int socket, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      await(socket, POLLOUT, deadline);
    } else if (errno != EINTR) {
      throw ConnectionError(Cause::kReset, std::strerror(errno));
    }
  }
}

std::string receive_exactly(int socket, std::size_t size, Clock::time_point deadline) {
  // Grows with what arrives, so that a size that a peer announced costs nothing by itself.
  constexpr std::size_t kPiece = 1 << 20;
  std::string bytes;
  while (bytes.size() < size) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min(size, before + kPiece));
    const ssize_t count = ::recv(socket, bytes.data() + before, bytes.size() - before, MSG_DONTWAIT);
    const int error = errno;
    bytes.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) throw ConnectionError(Cause::kClosed, "the connection was closed");
    if (count < 0 && error == EAGAIN) {
      await(socket, POLLIN, deadline);
    } else if (count < 0 && error != EINTR) {
      throw ConnectionError(Cause::kReset, std::strerror(error));
    }
  }
  return bytes;
}

}  // namespace lockstep::rendezvous

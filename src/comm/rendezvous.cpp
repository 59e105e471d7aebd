#include "rendezvous.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>

#include "guard.h"

namespace lockstep::comm {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    throw UsageError({.message = fmt::format("cannot resolve MASTER_ADDR '{}': {}", host, ::gai_strerror(error)),
                      .next = "give the name or address of the host of rank 0"});
  }
  return {found, &::freeaddrinfo};
}

// A socket that listens on the master's address and on no other: left to itself, TCPStore would listen on all.
UniqueFd listen_on(const std::string& host, int port) {
  const AddressList addresses = resolve(host, port);
  UniqueFd socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) {
    throw RuntimeError({.message = system_error(fmt::format("cannot listen on {}:{}", host, port), errno).what(),
                        .next = errno == EADDRINUSE ? "choose another MASTER_PORT, or end the job that holds it"
                                                    : "MASTER_ADDR must be an address of the host of rank 0",
                        .rank = RankId{}});
  }
  return socket;
}

}  // namespace

c10::intrusive_ptr<c10d::Store> meet(const Placement& placement, std::chrono::milliseconds timeout) {
  if (placement.rank.size == 1) return c10::make_intrusive<c10d::HashStore>();
  if (placement.master_address.empty() || !placement.master_port) {
    throw UsageError({.message = fmt::format("{} ranks, but no place to meet", placement.rank.size),
                      .expected = "MASTER_ADDR and MASTER_PORT, the same for all ranks",
                      .next = "start the ranks with lockstep run, or set both variables"});
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(*placement.master_port);
  options.isServer = placement.rank.rank == 0;
  options.numWorkers = static_cast<std::size_t>(placement.rank.size);
  options.timeout = timeout;
  UniqueFd listener;
  if (options.isServer) {
    listener = listen_on(placement.master_address, *placement.master_port);
    options.masterListenFd = listener.get();
  }
  const std::string where =
      fmt::format("meeting {} ranks at {}:{}", placement.rank.size, placement.master_address, *placement.master_port);
  return guarded(where, [&] {
    auto store = c10::make_intrusive<c10d::TCPStore>(placement.master_address, options);
    listener.release();  // the store owns it now
    return store;
  });
}

}  // namespace lockstep::comm

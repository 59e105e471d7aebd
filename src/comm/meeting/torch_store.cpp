#include "torch_store.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/log.h>

#include "../../base/sigpipe_blocked.h"
#include "../guard.h"

namespace lockstep::comm {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList resolve(const Endpoint& where) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
      error != 0) {
    throw UsageError(
        {.message = fmt::format("cannot resolve '{}', where ranks meet: {}", where.host, ::gai_strerror(error)),
         .next = "give the name or address of the host of rank 0"});
  }
  return {found, &::freeaddrinfo};
}

// A socket that listens on one address and on no other: left to itself, TCPStore would listen on all.
UniqueFd listen_on(const Endpoint& where) {
  const AddressList addresses = resolve(where);
  UniqueFd socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) {
    const int error = errno;
    throw RuntimeError(
        {.message = system_error(fmt::format("cannot listen on {}:{}", where.host, where.port), error).what(),
         .next = error == EADDRINUSE ? "choose another port, or end the job that holds it"
                                     : "ranks must meet at an address of the host of rank 0"});
  }
  return socket;
}

}  // namespace

c10::intrusive_ptr<c10d::Store> meet_at_tcp_store(const Endpoint& where, RankId rank,
                                                  std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(where.port);
  options.isServer = rank.rank == 0 && !env::get("TORCHELASTIC_USE_AGENT_STORE");
  options.numWorkers = static_cast<std::size_t>(rank.size);
  options.timeout = timeout;
  UniqueFd listener;
  if (options.isServer) {
    listener = listen_on(where);
    options.masterListenFd = listener.get();
    log::info("ranks meet at PyTorch's TCPStore on {}:{}, which is open to everyone who can reach that address",
              where.host, where.port);
  }
  return guarded(fmt::format("meeting {} ranks at {}:{}", rank.size, where.host, where.port), [&] {
    const SigpipeBlocked no_sigpipe_in_its_thread;
    auto store = c10::make_intrusive<c10d::TCPStore>(where.host, options);
    listener.release();  // the store owns it now
    return store;
  });
}

c10::intrusive_ptr<c10d::Store> meet_at_file_store(const std::string& path, RankId rank,
                                                   std::chrono::milliseconds timeout) {
  return guarded(fmt::format("meeting {} ranks at {}", rank.size, path), [&] {
    auto store = c10::make_intrusive<c10d::FileStore>(path, rank.size);
    store->setTimeout(timeout);
    return store;
  });
}

}  // namespace lockstep::comm

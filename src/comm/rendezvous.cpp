#include "rendezvous.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/token.h>

#include "guard.h"
#include "life_line.h"
#include "rendezvous_store.h"

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

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) throw system_error("cannot read this host's name", errno);
  return name.data();
}

// PyTorch's own store, as a job with Python ranks has it.
c10::intrusive_ptr<c10d::Store> meet_at_master(const Placement& placement, std::chrono::milliseconds timeout) {
  if (placement.master_address.empty() || !placement.master_port) {
    throw UsageError({.message = fmt::format("{} ranks, but no place to meet", placement.rank.size),
                      .expected = "MASTER_ADDR and MASTER_PORT, the same for all ranks",
                      .next = "start the ranks with lockstep run, or set both variables"});
  }
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(*placement.master_port);
  options.isServer = placement.rank.rank == 0 && !env::get("TORCHELASTIC_USE_AGENT_STORE");
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

// Every rank's host, exchanged through the store.
std::vector<std::string> exchange_hosts(c10d::Store& store, RankId id) {
  store.set(fmt::format("lockstep/host/{}", id.rank), host_name());
  std::vector<std::string> hosts;
  for (int rank = 0; rank < id.size; ++rank) hosts.push_back(store.get_to_str(fmt::format("lockstep/host/{}", rank)));
  return hosts;
}

// "127.0.0.1:4711" as the launcher writes it.
RendezvousClientOptions parse_rendezvous(const std::string& text, std::chrono::milliseconds timeout) {
  const std::size_t colon = text.rfind(':');
  int port = 0;
  if (colon != std::string::npos) std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
  if (port <= 0) {
    throw UsageError({.message = "LOCKSTEP_RENDEZVOUS is not understood", .found = text, .expected = "ADDRESS:PORT"});
  }
  return {.host = text.substr(0, colon), .port = port, .connect_timeout = timeout};
}

Meeting meet_at_launcher(const std::string& where, const Token& token, RankId id, std::chrono::milliseconds timeout) {
  const RendezvousClientOptions options = parse_rendezvous(where, timeout);
  Meeting meeting;
  meeting.life_line = std::make_shared<LifeLine>(
      token, options, Member{.id = id, .host = host_name(), .pid = ::getpid()}, meeting.loss);
  for (const Member& member : meeting.life_line->wait_for_world(timeout)) meeting.hosts.push_back(member.host);
  meeting.store = c10::make_intrusive<RendezvousStore>(std::make_shared<RendezvousClient>(token, options), timeout);
  return meeting;
}

}  // namespace

Meeting meet(const Placement& placement, std::chrono::milliseconds timeout) {
  if (placement.rank.size == 1) {
    Meeting alone;
    alone.store = c10::make_intrusive<c10d::HashStore>();
    alone.hosts = {host_name()};
    return alone;
  }
  if (const auto where = env::get("LOCKSTEP_RENDEZVOUS")) {
    const auto token = Token::from_environment();
    if (!token) {
      throw UsageError({.message = "LOCKSTEP_RENDEZVOUS is set, but the job's token was not inherited",
                        .next = "start the rank directly under lockstep run, or pass on LOCKSTEP_TOKEN_FD"});
    }
    return meet_at_launcher(*where, *token, placement.rank, timeout);
  }
  Meeting meeting;
  meeting.store = meet_at_master(placement, timeout);
  meeting.hosts = exchange_hosts(*meeting.store, placement.rank);
  return meeting;
}

}  // namespace lockstep::comm

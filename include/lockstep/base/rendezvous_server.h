#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include <lockstep/base/fd.h>
#include <lockstep/base/rendezvous.h>
#include <lockstep/base/token.h>

namespace lockstep {

struct RendezvousServerOptions {
  std::string address = "127.0.0.1";  // or a host name; the server listens on this one address
  int port = 0;                       // 0: the kernel chooses
  RendezvousLimits limits = {};
};

// Serves the job's rendezvous from a thread of its own, from construction to destruction. No peer can block it;
// strangers are turned away and change nothing. The destructor closes all connections and returns promptly.
class RendezvousServer {
 public:
  // Throws UsageError when the address cannot be resolved or means all addresses, RuntimeError when it cannot be
  // listened on.
  explicit RendezvousServer(const Token& token, const RendezvousServerOptions& options = {});

  // Takes over a socket that listens already.
  RendezvousServer(const Token& token, UniqueFd listener, const RendezvousLimits& limits = {});

  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;
  ~RendezvousServer();

  // Where it listens: a numeric address and the port.
  const std::string& address() const;
  int port() const;

  // How many connections were turned away because they did not prove the token. Any thread may ask.
  std::uint64_t turned_away() const;

 private:
  class Thread;
  std::unique_ptr<Thread> thread_;
};

// The address of a network interface such as "ib0", for RendezvousServerOptions: IPv4 if it has one. Throws UsageError
// that lists the interfaces when there is no such one or it has no address.
std::string interface_address(const std::string& interface);

// The other way round: the interface that has a numeric address; empty when it is none of this host's.
std::string interface_of(const std::string& address);

}  // namespace lockstep

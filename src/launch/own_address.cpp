#include "own_address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <memory>

#include <lockstep/base/environment.h>
#include <lockstep/base/errors.h>
#include <lockstep/base/fd.h>
#include <lockstep/base/rendezvous_server.h>

#include "../base/host_name.h"
#include "../base/rendezvous_socket.h"

namespace lockstep::launch {
namespace {

// Empty when the name means nothing here, or there is no way to it.
std::string address_towards(const std::string& peer) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(peer.c_str(), "9", &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const UniqueFd socket(::socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket && ::connect(socket.get(), address->ai_addr, address->ai_addrlen) == 0) {
      return rendezvous::local_endpoint(socket.get()).address;
    }
  }
  return "";
}

}  // namespace

std::string own_address(const std::string& peer) {
  if (const auto interface = env::get("LOCKSTEP_INTERFACE")) return interface_address(*interface);
  const std::string host = peer.substr(peer.find('@') == std::string::npos ? 0 : peer.find('@') + 1);
  for (const std::string& name : {host, host_name()}) {
    if (std::string address = address_towards(name); !address.empty()) return address;
  }
  throw UsageError({.message = "no address is known under which other hosts reach this one",
                    .next = "give --master-addr, or name the interface in LOCKSTEP_INTERFACE"});
}

}  // namespace lockstep::launch

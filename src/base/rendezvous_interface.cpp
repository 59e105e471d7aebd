#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <set>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/rendezvous_server.h>

namespace lockstep {
namespace {

using InterfaceList = std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)>;

InterfaceList list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw system_error("cannot list the network interfaces", errno);
  return {first, &::freeifaddrs};
}

std::string numeric(const sockaddr* address) {
  const socklen_t length = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> host{};
  const int error = ::getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host.data() : "";
}

}  // namespace

std::string interface_address(const std::string& interface) {
  const InterfaceList list = list_interfaces();
  std::set<std::string> names;
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != family) continue;
      if (entry->ifa_name == interface) return numeric(entry->ifa_addr);
      names.insert(entry->ifa_name);
    }
  }
  throw UsageError({.message = fmt::format("there is no network interface '{}' with an address", interface),
                    .expected = fmt::format("one of: {}", fmt::join(names, ", "))});
}

std::string interface_of(const std::string& address) {
  const InterfaceList list = list_interfaces();
  for (const ifaddrs* entry = list.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    if ((family == AF_INET || family == AF_INET6) && numeric(entry->ifa_addr) == address) return entry->ifa_name;
  }
  return "";
}

}  // namespace lockstep

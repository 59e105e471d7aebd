// What the requests to a rendezvous mean. Knows connections by number only and touches no socket, so it is the same for
// every transport: requests go in, replies come out, at once or when what was waited for has happened.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/base/rendezvous.h>

#include "rendezvous_key_store.h"
#include "rendezvous_membership.h"
#include "rendezvous_protocol.h"

namespace lockstep::rendezvous {

class Service {
 public:
  explicit Service(const RendezvousLimits& limits) : keys_(limits) {}

  // Handles one request, of a connection that has no other under way. Returns nothing when the reply is there, else the
  // time after which `expire` is due if it has not come by then. Throws Malformed, with nothing changed, when the
  // request breaks the protocol.
  std::optional<std::chrono::milliseconds> handle(ConnectionId from, std::string_view request);

  // The time of the connection's wait has passed.
  void expire(ConnectionId connection);

  // The connection has ended.
  void forget(ConnectionId connection);

  // The replies that have come since the last call, as frames.
  std::vector<std::pair<ConnectionId, std::string>> take_replies() { return std::exchange(replies_, {}); }

 private:
  struct Wait {
    Operation operation;
    std::string key = {};                             // of a get
    std::set<std::string, std::less<>> missing = {};  // of a get or wait: the keys that have not been set
    std::size_t known = 0;                            // of a wait for loss
  };
  using Timeout = std::chrono::milliseconds;

  std::string change_or_ask_keys(Operation operation, Reader request);
  std::string change_or_ask_members(ConnectionId from, Operation operation, Reader request);
  std::optional<Timeout> wait_for_keys(ConnectionId from, Operation operation, Reader request);
  std::optional<Timeout> wait_for_members(ConnectionId from, Operation operation, Reader request);
  std::optional<Timeout> begin(ConnectionId from, Wait wait, Timeout timeout);

  // The reply to a wait, if what it waits for has happened.
  std::optional<std::string> result_of(const Wait& wait) const;
  std::string reply_at_timeout(const Wait& wait) const;
  std::string members_reply(Status status) const;
  std::string losses_reply() const;

  void settle(ConnectionId waiting);
  void key_appeared(std::string_view key);
  void members_changed();
  void end_wait(ConnectionId connection);

  KeyStore keys_;
  Membership members_;
  std::map<ConnectionId, Wait> waits_;
  std::map<std::string, std::set<ConnectionId>, std::less<>> waiting_for_;  // by key
  std::vector<std::pair<ConnectionId, std::string>> replies_;
};

}  // namespace lockstep::rendezvous

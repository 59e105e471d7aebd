#pragma once
#include <sys/epoll.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <lockstep/base/fd.h>
#include <lockstep/base/rendezvous.h>
#include <lockstep/base/token.h>

#include "rendezvous_connection.h"
#include "rendezvous_service.h"
#include "rendezvous_socket.h"

namespace lockstep::rendezvous {

// Moves bytes between the connections and the service, in one thread that only ever waits in epoll. A connection is in
// one state at a time, which says whether it is read or written and when its time is up.
class Loop {
 public:
  Loop(const Token& token, UniqueFd listener, const RendezvousLimits& limits);

  // Serves until `stop`, then closes all connections.
  void run();

  // Any thread may call these.
  void stop();
  std::uint64_t turned_away() const { return turned_away_; }

 private:
  enum class State { kProving, kIdle, kReceiving, kWaiting, kSending };
  struct Peer {
    Connection connection;
    std::string nonce;  // ours
    State state = State::kProving;
    Clock::time_point deadline = Clock::time_point::max();
  };

  // The events to watch for in a state.
  static std::uint32_t interest(State state);

  void turn();
  void handle_event(const epoll_event& event);
  void handle_deadline(ConnectionId id);

  void accept_peers();
  void admit(UniqueFd socket);
  void pause_accepting();

  // These return false when the peer is to be dropped.
  bool advance(ConnectionId id, Peer& peer, std::uint32_t events);
  bool check_proof(ConnectionId id, Peer& peer);
  bool read_request(ConnectionId id, Peer& peer);
  bool send(ConnectionId id, Peer& peer, std::string bytes);

  void deliver_replies();
  void enter(ConnectionId id, Peer& peer, State state, std::optional<std::chrono::milliseconds> limit = std::nullopt);
  void drop(ConnectionId id);
  void count_stranger(int socket);

  const Token token_;
  const RendezvousLimits limits_;
  UniqueFd listener_;
  UniqueFd epoll_;
  UniqueFd stop_;
  bool stopping_ = false;
  std::atomic<std::uint64_t> turned_away_ = 0;

  Service service_;
  ConnectionId next_id_;
  std::map<ConnectionId, Peer> peers_;
  std::set<ConnectionId> strangers_;  // peers that have not proved the token, the oldest first
  std::set<std::pair<Clock::time_point, ConnectionId>> deadlines_;
};

}  // namespace lockstep::rendezvous

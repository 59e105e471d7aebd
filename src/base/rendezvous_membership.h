#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <lockstep/base/rendezvous.h>

namespace lockstep::rendezvous {

// A connection of the server, never used again for another.
using ConnectionId = std::uint64_t;

// Which ranks have joined, through which connection, and which of them are lost.
class Membership {
 public:
  // Throws RuntimeError that names both processes when the rank is taken or the size is not that of the others.
  void join(ConnectionId connection, const Member& member);

  // Throws RuntimeError when the connection has not joined.
  void leave(ConnectionId connection);

  // The connection has ended; returns whether a rank is lost by that.
  bool end(ConnectionId connection);

  // Whether every rank of the job has joined.
  bool is_complete() const;
  std::vector<Member> members() const;
  const std::vector<LostMember>& lost() const { return lost_; }

 private:
  enum class State { kHere, kLeft, kLost };
  struct Seat {
    Member member;
    State state;
  };

  std::map<int, Seat> seats_;          // by rank
  std::map<ConnectionId, int> ranks_;  // of the connections that have joined and not left
  std::vector<LostMember> lost_;
};

}  // namespace lockstep::rendezvous

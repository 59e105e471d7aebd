#include "rendezvous_membership.h"

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::rendezvous {

void Membership::join(ConnectionId connection, const Member& member) {
  if (const auto own = ranks_.find(connection); own != ranks_.end()) {
    throw RuntimeError({.message = fmt::format("{} cannot join: its connection has joined already", member.name()),
                        .found = seats_.at(own->second).member.name()});
  }
  if (!seats_.empty() && seats_.begin()->second.member.id.size != member.id.size) {
    const Member& other = seats_.begin()->second.member;
    throw RuntimeError(
        {.message = fmt::format("{} and {} do not agree on the size of the job", member.name(), other.name()),
         .found = fmt::format("{} and {} ranks", member.id.size, other.id.size),
         .next = "start all ranks with the same number of ranks"});
  }
  const auto taken = seats_.find(member.id.rank);
  if (taken != seats_.end() && taken->second.state != State::kLeft) {
    const bool is_lost = taken->second.state == State::kLost;
    throw RuntimeError({.message = fmt::format("{} cannot join: {} {}", member.name(), taken->second.member.name(),
                                               is_lost ? "was lost in its place" : "is there already"),
                        .next = is_lost ? "start the whole job again" : "give each process a rank of its own"});
  }
  seats_.insert_or_assign(member.id.rank, Seat{member, State::kHere});
  ranks_.emplace(connection, member.id.rank);
}

void Membership::leave(ConnectionId connection) {
  const auto own = ranks_.find(connection);
  if (own == ranks_.end()) throw RuntimeError("a connection that has not joined cannot leave");
  seats_.at(own->second).state = State::kLeft;
  ranks_.erase(own);
}

bool Membership::end(ConnectionId connection) {
  const auto own = ranks_.find(connection);
  if (own == ranks_.end()) return false;
  Seat& seat = seats_.at(own->second);
  seat.state = State::kLost;
  lost_.push_back({seat.member, std::chrono::system_clock::now()});
  ranks_.erase(own);
  return true;
}

bool Membership::is_complete() const {
  return !seats_.empty() && std::ssize(seats_) == seats_.begin()->second.member.id.size;
}

std::vector<Member> Membership::members() const {
  std::vector<Member> all;
  for (const auto& [rank, seat] : seats_) all.push_back(seat.member);
  return all;
}

}  // namespace lockstep::rendezvous

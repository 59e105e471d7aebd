#include <lockstep/base/rendezvous_client.h>

#include <sys/socket.h>

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

#include "rendezvous_connect.h"
#include "rendezvous_protocol.h"
#include "rendezvous_socket.h"

namespace lockstep {

using rendezvous::Operation;
using rendezvous::Reader;
using rendezvous::Status;
using rendezvous::Writer;

struct RendezvousClient::Reply {
  Status status;
  std::string body;

  // What follows the status.
  Reader fields() const { return Reader(std::string_view(body).substr(1)); }
};

namespace {

std::vector<Member> read_members(Reader fields) {
  std::vector<Member> members;
  for (std::uint32_t left = fields.count(); left > 0; --left) members.push_back(fields.member());
  return members;
}

Writer& add_keys(Writer& request, std::span<const std::string> keys) {
  request.count(static_cast<std::uint32_t>(keys.size()));
  for (const std::string& key : keys) request.bytes(key);
  return request;
}

// "'a', 'b' and 3 more"
std::string named(const std::vector<std::string>& first, std::size_t all) {
  const std::string list = fmt::format("{}", fmt::join(first, ", "));
  return all > first.size()
             ? fmt::format("{} and {} more", list, format_count(static_cast<std::int64_t>(all - first.size())))
             : list;
}

TimeoutError keys_missing(Reader fields, std::chrono::milliseconds timeout) {
  const std::uint32_t count = fields.count();
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < std::min(count, rendezvous::kMaxKeysNamed); ++i) {
    names.push_back(fmt::format("'{}'", fields.bytes()));
  }
  return TimeoutError({.message = fmt::format("waiting for {} at the rendezvous timed out after {}",
                                              format_plural(count, "key"), format_duration(timeout)),
                       .found = named(names, count) + (count == 1 ? " is missing" : " are missing"),
                       .next = "look for the rank that should have set it; raise the timeout if it is only slow"});
}

TimeoutError ranks_missing(const std::vector<Member>& members, std::chrono::milliseconds timeout) {
  if (members.empty()) {
    return TimeoutError(fmt::format("no rank has come to the rendezvous within {}", format_duration(timeout)));
  }
  const int size = members.front().id.size;
  std::vector<std::string> names;
  auto here = members.begin();
  for (int rank = 0; rank < size && names.size() < rendezvous::kMaxKeysNamed; ++rank) {
    if (here != members.end() && here->id.rank == rank) {
      ++here;
    } else {
      names.push_back(fmt::format("rank {}", rank));
    }
  }
  const auto missing = static_cast<std::size_t>(size) - members.size();
  return TimeoutError(
      {.message = fmt::format("{} of {} have not come to the rendezvous within {}", missing,
                              format_plural(size, "rank"), format_duration(timeout)),
       .found = named(names, missing) + (missing == 1 ? " is missing" : " are missing"),
       .next = "see whether they were started and what they said; raise the timeout if they are only slow"});
}

}  // namespace

RendezvousClient::RendezvousClient(const Token& token, RendezvousClientOptions options)
    : options_(std::move(options)), socket_(rendezvous::connect_as_member(token, options_)) {}

void RendezvousClient::close() {
  ended_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
}

RendezvousClient::Reply RendezvousClient::call(const std::string& request, Timeout wait) {
  const std::string where = rendezvous::Endpoint{options_.host, options_.port}.text();
  if (request.size() - rendezvous::kHeaderSize > rendezvous::kMaxFrameBody) {
    throw RuntimeError({.message = "a request is too large for the rendezvous at " + where,
                        .found = format_bytes(request.size()),
                        .expected = "at most " + format_bytes(rendezvous::kMaxValueSize) + " for a value"});
  }
  const std::scoped_lock lock(mutex_);
  if (ended_) throw RuntimeError("the connection to the rendezvous at " + where + " has ended");
  Reply reply{};
  try {
    const auto deadline =
        rendezvous::Clock::now() + rendezvous::bounded(wait) + rendezvous::bounded(options_.reply_timeout);
    rendezvous::send_all(socket_.get(), request, deadline);
    const std::string header = rendezvous::receive_exactly(socket_.get(), rendezvous::kHeaderSize, deadline);
    reply.body = rendezvous::receive_exactly(socket_.get(), rendezvous::body_size(header), deadline);
  } catch (const std::exception& error) {
    // Half a message may be on its way: nothing that follows could be understood.
    close();
    throw RuntimeError({.message = fmt::format("the rendezvous at {} is lost: {}", where, error.what()),
                        .next = "see whether its process, the launcher or rank 0, still runs and what it said last"});
  }
  Reader fields(reply.body);
  reply.status = static_cast<Status>(fields.kind());
  if (reply.status == Status::kRefused) {
    ErrorParts parts;
    for (std::string* part : {&parts.message, &parts.found, &parts.expected, &parts.next}) *part = fields.bytes();
    throw RuntimeError(std::move(parts));
  }
  return reply;
}

void RendezvousClient::set(std::string_view key, std::string_view value) {
  call(Writer(Operation::kSet).bytes(key).bytes(value).take());
}

std::string RendezvousClient::get(std::string_view key, Timeout timeout) {
  const Reply reply = call(Writer(Operation::kGet).bytes(key).timeout(timeout).take(), timeout);
  if (reply.status == Status::kTimedOut) throw keys_missing(reply.fields(), timeout);
  return std::string(reply.fields().bytes());
}

std::int64_t RendezvousClient::add(std::string_view key, std::int64_t amount) {
  return call(Writer(Operation::kAdd).bytes(key).number(amount).take()).fields().number();
}

std::string RendezvousClient::compare_set(std::string_view key, std::string_view expected, std::string_view desired) {
  const Reply reply = call(Writer(Operation::kCompareSet).bytes(key).bytes(expected).bytes(desired).take());
  return std::string(reply.fields().bytes());
}

bool RendezvousClient::check(std::span<const std::string> keys) {
  Writer request(Operation::kCheck);
  return call(add_keys(request, keys).take()).fields().number() != 0;
}

void RendezvousClient::wait(std::span<const std::string> keys, Timeout timeout) {
  Writer request(Operation::kWait);
  const Reply reply = call(add_keys(request, keys).timeout(timeout).take(), timeout);
  if (reply.status == Status::kTimedOut) throw keys_missing(reply.fields(), timeout);
}

bool RendezvousClient::delete_key(std::string_view key) {
  return call(Writer(Operation::kDeleteKey).bytes(key).take()).fields().number() != 0;
}

std::int64_t RendezvousClient::num_keys() {
  return call(Writer(Operation::kNumKeys).take()).fields().number();
}

void RendezvousClient::join(const Member& self) {
  if (self.id.size < 1 || self.id.size > rendezvous::kMaxRanks || self.id.rank < 0 || self.id.rank >= self.id.size) {
    throw UsageError({.message = fmt::format("rank {} of {} cannot join a job", self.id.rank, self.id.size),
                      .expected = fmt::format("a rank below the size, and a size up to {}", rendezvous::kMaxRanks)});
  }
  Member member = self;
  member.host.resize(std::min(member.host.size(), rendezvous::kMaxHostSize));
  call(Writer(Operation::kJoin).member(member).take());
}

void RendezvousClient::leave() {
  call(Writer(Operation::kLeave).take());
}

std::vector<Member> RendezvousClient::members() {
  return read_members(call(Writer(Operation::kMembers).take()).fields());
}

std::vector<Member> RendezvousClient::wait_for_world(Timeout timeout) {
  const Reply reply = call(Writer(Operation::kWaitForWorld).timeout(timeout).take(), timeout);
  std::vector<Member> members = read_members(reply.fields());
  if (reply.status == Status::kTimedOut) throw ranks_missing(members, timeout);
  return members;
}

std::vector<LostMember> RendezvousClient::wait_for_loss(std::size_t known, Timeout timeout) {
  const auto known_ranks = static_cast<std::uint32_t>(std::min<std::size_t>(known, rendezvous::kMaxRanks));
  const Reply reply = call(Writer(Operation::kWaitForLoss).count(known_ranks).timeout(timeout).take(), timeout);
  Reader fields = reply.fields();
  std::vector<LostMember> lost;
  for (std::uint32_t left = fields.count(); left > 0; --left) {
    Member member = fields.member();
    const auto since_epoch = std::chrono::microseconds(fields.number());
    lost.push_back({std::move(member), std::chrono::system_clock::time_point(since_epoch)});
  }
  return lost;
}

}  // namespace lockstep

#include "rendezvous_service.h"

#include <algorithm>

#include <fmt/format.h>

#include <lockstep/base/errors.h>
#include <lockstep/base/text.h>

namespace lockstep::rendezvous {
namespace {

std::string done() {
  return Writer(Status::kDone).take();
}

std::string refused(const ErrorParts& parts) {
  return Writer(Status::kRefused)
      .bytes(parts.message)
      .bytes(parts.found)
      .bytes(parts.expected)
      .bytes(parts.next)
      .take();
}

std::vector<std::string_view> read_keys(Reader& request) {
  const std::uint32_t count = request.count();
  if (count > kMaxKeysPerRequest) {
    throw RuntimeError({.message = "too many keys in one request to the rendezvous",
                        .found = format_count(count),
                        .expected = "at most " + format_count(kMaxKeysPerRequest)});
  }
  std::vector<std::string_view> keys;
  for (std::uint32_t i = 0; i < count; ++i) keys.push_back(request.bytes());
  return keys;
}

}  // namespace

std::optional<std::chrono::milliseconds> Service::handle(ConnectionId from, std::string_view request) {
  Reader reader(request);
  const auto operation = static_cast<Operation>(reader.kind());
  try {
    switch (operation) {
      case Operation::kGet:
      case Operation::kWait:
        return wait_for_keys(from, operation, reader);
      case Operation::kWaitForWorld:
      case Operation::kWaitForLoss:
        return wait_for_members(from, operation, reader);
      case Operation::kJoin:
      case Operation::kLeave:
      case Operation::kMembers:
        replies_.emplace_back(from, change_or_ask_members(from, operation, reader));
        return std::nullopt;
      default:
        replies_.emplace_back(from, change_or_ask_keys(operation, reader));
        return std::nullopt;
    }
  } catch (const Malformed&) {
    throw;
  } catch (const Error& error) {
    replies_.emplace_back(from, refused(error.parts()));
    return std::nullopt;
  }
}

std::string Service::change_or_ask_keys(Operation operation, Reader request) {
  switch (operation) {
    case Operation::kSet: {
      const std::string_view key = request.bytes();
      const std::string_view value = request.bytes();
      request.finish();
      keys_.set(key, value);
      key_appeared(key);
      return done();
    }
    case Operation::kAdd: {
      const std::string_view key = request.bytes();
      const std::int64_t amount = request.number();
      request.finish();
      const std::int64_t sum = keys_.add(key, amount);
      key_appeared(key);
      return Writer(Status::kDone).number(sum).take();
    }
    case Operation::kCompareSet: {
      const std::string_view key = request.bytes();
      const std::string_view expected = request.bytes();
      const std::string_view desired = request.bytes();
      request.finish();
      const std::string value = keys_.compare_set(key, expected, desired);
      if (keys_.find(key) != nullptr) key_appeared(key);
      return Writer(Status::kDone).bytes(value).take();
    }
    case Operation::kCheck: {
      const auto keys = read_keys(request);
      request.finish();
      const auto is_set = [this](std::string_view key) { return keys_.find(key) != nullptr; };
      return Writer(Status::kDone).number(std::all_of(keys.begin(), keys.end(), is_set) ? 1 : 0).take();
    }
    case Operation::kDeleteKey: {
      const std::string_view key = request.bytes();
      request.finish();
      return Writer(Status::kDone).number(keys_.erase(key) ? 1 : 0).take();
    }
    case Operation::kNumKeys:
      request.finish();
      return Writer(Status::kDone).number(static_cast<std::int64_t>(keys_.size())).take();
    default:
      throw Malformed();
  }
}

std::string Service::change_or_ask_members(ConnectionId from, Operation operation, Reader request) {
  if (operation == Operation::kJoin) {
    const Member member = request.member();
    request.finish();
    members_.join(from, member);
    members_changed();
    return done();
  }
  request.finish();
  if (operation == Operation::kMembers) return members_reply(Status::kDone);
  members_.leave(from);
  return done();
}

std::optional<Service::Timeout> Service::wait_for_keys(ConnectionId from, Operation operation, Reader request) {
  Wait wait{.operation = operation};
  std::vector<std::string_view> keys;
  if (operation == Operation::kGet) {
    keys.push_back(request.bytes());
    wait.key = keys.front();
  } else {
    keys = read_keys(request);
  }
  const Timeout timeout = request.timeout();
  request.finish();
  for (const std::string_view key : keys) {
    KeyStore::require_possible(key);
    if (keys_.find(key) == nullptr) wait.missing.emplace(key);
  }
  return begin(from, std::move(wait), timeout);
}

std::optional<Service::Timeout> Service::wait_for_members(ConnectionId from, Operation operation, Reader request) {
  Wait wait{.operation = operation};
  if (operation == Operation::kWaitForLoss) wait.known = request.count();
  const Timeout timeout = request.timeout();
  request.finish();
  return begin(from, std::move(wait), timeout);
}

std::optional<Service::Timeout> Service::begin(ConnectionId from, Wait wait, Timeout timeout) {
  if (auto result = result_of(wait)) {
    replies_.emplace_back(from, std::move(*result));
    return std::nullopt;
  }
  for (const std::string& key : wait.missing) waiting_for_[key].insert(from);
  waits_.insert_or_assign(from, std::move(wait));
  return timeout;
}

std::optional<std::string> Service::result_of(const Wait& wait) const {
  switch (wait.operation) {
    case Operation::kGet:
      if (!wait.missing.empty()) return std::nullopt;
      return Writer(Status::kDone).bytes(*keys_.find(wait.key)).take();
    case Operation::kWait:
      if (!wait.missing.empty()) return std::nullopt;
      return done();
    case Operation::kWaitForWorld:
      if (members_.is_complete()) return members_reply(Status::kDone);
      if (members_.lost().empty()) return std::nullopt;
      return refused({.message = members_.lost().front().member.name() + " was lost before all ranks had joined",
                      .next = "see what that process said last"});
    default:
      if (members_.lost().size() <= wait.known) return std::nullopt;
      return losses_reply();
  }
}

std::string Service::reply_at_timeout(const Wait& wait) const {
  if (wait.operation == Operation::kWaitForWorld) return members_reply(Status::kTimedOut);
  if (wait.operation == Operation::kWaitForLoss) return losses_reply();
  Writer reply(Status::kTimedOut);
  reply.count(static_cast<std::uint32_t>(wait.missing.size()));
  std::uint32_t named = 0;
  for (auto key = wait.missing.begin(); key != wait.missing.end() && named < kMaxKeysNamed; ++key, ++named) {
    reply.bytes(*key);
  }
  return reply.take();
}

std::string Service::members_reply(Status status) const {
  const std::vector<Member> members = members_.members();
  Writer reply(status);
  reply.count(static_cast<std::uint32_t>(members.size()));
  for (const Member& member : members) reply.member(member);
  return reply.take();
}

std::string Service::losses_reply() const {
  Writer reply(Status::kDone);
  reply.count(static_cast<std::uint32_t>(members_.lost().size()));
  for (const LostMember& lost : members_.lost()) {
    const auto since_epoch = std::chrono::duration_cast<std::chrono::microseconds>(lost.when.time_since_epoch());
    reply.member(lost.member).number(since_epoch.count());
  }
  return reply.take();
}

void Service::settle(ConnectionId waiting) {
  const auto wait = waits_.find(waiting);
  if (auto result = result_of(wait->second)) {
    replies_.emplace_back(waiting, std::move(*result));
    waits_.erase(wait);
  }
}

void Service::key_appeared(std::string_view key) {
  const auto entry = waiting_for_.find(key);
  if (entry == waiting_for_.end()) return;
  const auto waiting = waiting_for_.extract(entry);
  for (const ConnectionId connection : waiting.mapped()) {
    waits_.at(connection).missing.erase(waiting.key());
    settle(connection);
  }
}

void Service::members_changed() {
  for (auto wait = waits_.begin(); wait != waits_.end();) settle((wait++)->first);
}

void Service::expire(ConnectionId connection) {
  const auto wait = waits_.find(connection);
  if (wait == waits_.end()) return;
  replies_.emplace_back(connection, reply_at_timeout(wait->second));
  end_wait(connection);
}

void Service::forget(ConnectionId connection) {
  end_wait(connection);
  if (members_.end(connection)) members_changed();
}

void Service::end_wait(ConnectionId connection) {
  const auto wait = waits_.find(connection);
  if (wait == waits_.end()) return;
  for (const std::string& key : wait->second.missing) {
    const auto waiting = waiting_for_.find(key);
    waiting->second.erase(connection);
    if (waiting->second.empty()) waiting_for_.erase(waiting);
  }
  waits_.erase(wait);
}

}  // namespace lockstep::rendezvous

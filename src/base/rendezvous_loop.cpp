#include "rendezvous_loop.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <limits>
#include <string_view>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>

#include "rendezvous_auth.h"
#include "rendezvous_protocol.h"

namespace lockstep::rendezvous {
namespace {

using namespace std::chrono_literals;

// In events and deadlines these stand for what is no connection.
constexpr ConnectionId kStop = 0;
constexpr ConnectionId kListener = 1;
constexpr ConnectionId kFirstConnection = 2;

void watch(int epoll, int action, int fd, ConnectionId id, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = id}};
  if (::epoll_ctl(epoll, action, fd, &event) != 0) throw system_error("cannot watch a connection", errno);
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

std::uint32_t Loop::interest(State state) {
  if (state == State::kWaiting) return EPOLLRDHUP;
  return state == State::kSending ? EPOLLOUT | EPOLLRDHUP : EPOLLIN | EPOLLRDHUP;
}

Loop::Loop(const Token& token, UniqueFd listener, const RendezvousLimits& limits)
    : token_(token),
      limits_(limits),
      listener_(std::move(listener)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      service_(limits),
      next_id_(kFirstConnection) {
  // A connection that is gone before it is accepted must not make accept wait for the next.
  if (!epoll_ || !stop_ || ::fcntl(listener_.get(), F_SETFL, O_NONBLOCK) != 0) {
    throw system_error("cannot serve a rendezvous", errno);
  }
  watch(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), kStop, EPOLLIN);
  watch(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), kListener, EPOLLIN);
}

void Loop::run() {
  try {
    while (!stopping_) turn();
  } catch (const std::exception& error) {
    log::error("the rendezvous cannot go on: {}", error.what());
  }
  peers_.clear();
  listener_.reset();
}

void Loop::turn() {
  std::array<epoll_event, 64> events{};
  const int timeout = deadlines_.empty() ? -1 : milliseconds_until(deadlines_.begin()->first);
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
  if (count < 0 && errno != EINTR) throw system_error("cannot wait for connections", errno);
  for (int i = 0; i < count; ++i) handle_event(events[static_cast<std::size_t>(i)]);
  while (!deadlines_.empty() && deadlines_.begin()->first <= Clock::now()) {
    handle_deadline(deadlines_.begin()->second);
  }
}

void Loop::stop() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof(one));
}

void Loop::handle_event(const epoll_event& event) {
  const ConnectionId id = event.data.u64;
  if (id == kStop) {
    stopping_ = true;
  } else if (id == kListener) {
    accept_peers();
  } else if (const auto peer = peers_.find(id); peer != peers_.end()) {
    bool goes_on = false;
    try {
      goes_on = advance(id, peer->second, event.events);
    } catch (const std::exception&) {
      // Broken protocol, or no memory for what it wants: its own trouble, not that of others.
    }
    if (!goes_on) drop(id);
    deliver_replies();
  }
}

void Loop::handle_deadline(ConnectionId id) {
  if (id == kListener) {
    deadlines_.erase(deadlines_.begin());
    watch(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), kListener, EPOLLIN);
    return;
  }
  Peer& peer = peers_.at(id);
  if (peer.state == State::kWaiting) {
    service_.expire(id);
  } else {
    drop(id);
  }
  deliver_replies();
}

void Loop::accept_peers() {
  // Not all at once: members are served in between.
  constexpr int kAtOnce = 32;
  for (int i = 0; i < kAtOnce; ++i) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      admit(std::move(socket));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (strangers_.empty()) return pause_accepting();
      drop(*strangers_.begin());
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

void Loop::admit(UniqueFd socket) {
  if (strangers_.size() >= limits_.strangers) drop(*strangers_.begin());
  const ConnectionId id = next_id_++;
  try {
    tune(socket.get());
    watch(epoll_.get(), EPOLL_CTL_ADD, socket.get(), id, interest(State::kProving));
  } catch (const RuntimeError&) {
    return;  // it is gone already, or the kernel has no room for it
  }
  Peer& peer = peers_.emplace(id, Peer{Connection(std::move(socket)), random_bytes(kNonceSize)}).first->second;
  strangers_.insert(id);
  enter(id, peer, State::kProving, limits_.proof_time);
  // A stranger's connection is reset, so that strangers cannot fill the kernel's tables either.
  peer.connection.reset_at_end(true);
  // A new socket has room for this; one that has not is none of ours.
  if (!peer.connection.send(hello(peer.nonce)) || peer.connection.has_output()) drop(id);
}

void Loop::pause_accepting() {
  watch(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), kListener, 0);
  deadlines_.emplace(Clock::now() + 100ms, kListener);
}

bool Loop::advance(ConnectionId id, Peer& peer, std::uint32_t events) {
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return false;
  switch (peer.state) {
    case State::kProving:
      return check_proof(id, peer);
    case State::kIdle:
    case State::kReceiving:
      return read_request(id, peer);
    case State::kWaiting:
      return (events & EPOLLRDHUP) == 0;
    case State::kSending:
      if ((events & EPOLLRDHUP) != 0 || !peer.connection.flush()) return false;
      if (!peer.connection.has_output()) enter(id, peer, State::kIdle);
      return true;
  }
  return false;
}

bool Loop::check_proof(ConnectionId id, Peer& peer) {
  if (!peer.connection.receive(kAnswerSize)) return false;
  const std::string& answer = peer.connection.input();
  if (answer.size() < kAnswerSize) return true;
  // An end in order, instead of a reset, tells a process of another job that it need not try again.
  peer.connection.reset_at_end(false);
  if (!answer_is_right(token_, peer.nonce, answer)) return false;
  std::string proof = proof_for(token_, peer.nonce, answer);
  peer.connection.clear_input();
  strangers_.erase(id);
  return send(id, peer, std::move(proof));
}

bool Loop::read_request(ConnectionId id, Peer& peer) {
  Connection& connection = peer.connection;
  if (!connection.receive(kHeaderSize)) return false;
  const std::string& input = connection.input();
  if (input.size() >= kHeaderSize) {
    const std::size_t size = kHeaderSize + body_size(std::string_view(input).substr(0, kHeaderSize));
    if (!connection.receive(size)) return false;
    if (input.size() == size) {
      const auto wait = service_.handle(id, std::string_view(input).substr(kHeaderSize));
      connection.clear_input();
      if (wait) enter(id, peer, State::kWaiting, *wait);
      return true;
    }
  }
  if (peer.state == State::kIdle && !input.empty()) enter(id, peer, State::kReceiving, limits_.transfer_time);
  return true;
}

bool Loop::send(ConnectionId id, Peer& peer, std::string bytes) {
  if (!peer.connection.send(std::move(bytes))) return false;
  if (peer.connection.has_output()) {
    enter(id, peer, State::kSending, limits_.transfer_time);
  } else {
    enter(id, peer, State::kIdle);
  }
  return true;
}

void Loop::deliver_replies() {
  // A reply that cannot be sent may end a member, and that may be what others wait for.
  for (auto replies = service_.take_replies(); !replies.empty(); replies = service_.take_replies()) {
    for (auto& [id, frame] : replies) {
      const auto peer = peers_.find(id);
      if (peer != peers_.end() && !send(id, peer->second, std::move(frame))) drop(id);
    }
  }
}

void Loop::enter(ConnectionId id, Peer& peer, State state, std::optional<std::chrono::milliseconds> limit) {
  deadlines_.erase({peer.deadline, id});
  peer.deadline = limit ? Clock::now() + *limit : Clock::time_point::max();
  if (limit) deadlines_.emplace(peer.deadline, id);
  if (interest(state) != interest(peer.state)) {
    watch(epoll_.get(), EPOLL_CTL_MOD, peer.connection.socket(), id, interest(state));
  }
  peer.state = state;
}

void Loop::drop(ConnectionId id) {
  const auto peer = peers_.find(id);
  deadlines_.erase({peer->second.deadline, id});
  if (strangers_.erase(id) != 0) count_stranger(peer->second.connection.socket());
  peers_.erase(peer);
  service_.forget(id);
}

void Loop::count_stranger(int socket) {
  if (turned_away_++ > 0) return;
  log::warning("{} came to the rendezvous without the job's token and was turned away; others are not mentioned",
               remote_endpoint(socket).text());
}

}  // namespace lockstep::rendezvous

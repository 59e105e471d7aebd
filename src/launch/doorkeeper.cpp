#include "doorkeeper.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "../base/rendezvous_auth.h"
#include "../base/rendezvous_socket.h"
#include "listen.h"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

constexpr auto kTimeToProve = 5s;
constexpr std::size_t kMostStrangers = 64;

}  // namespace

Doorkeeper::Doorkeeper(const std::string& address, int port, const Token& token, EventLoop& loop, Admit admit)
    : token_(token), loop_(loop), admit_(std::move(admit)), listener_(listen_as_told(address, port)) {
  const rendezvous::Endpoint here = rendezvous::local_endpoint(listener_.get());
  address_ = here.address;
  port_ = here.port;
  loop_.watch(listener_.get(), [this] { accept_one(); });
}

Doorkeeper::~Doorkeeper() {
  loop_.unwatch(listener_.get());
  for (const auto& [fd, stranger] : strangers_) loop_.unwatch(fd);
}

void Doorkeeper::accept_one() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket || strangers_.size() >= kMostStrangers) return;
  const int fd = socket.get();
  Stranger stranger{.socket = std::move(socket),
                    .nonce = random_bytes(rendezvous::kNonceSize),
                    .answer = {},
                    .deadline = Clock::now() + kTimeToProve};
  const std::string hello = rendezvous::hello(stranger.nonce);
  if (::send(fd, hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size())) return;
  strangers_.emplace(fd, std::move(stranger));
  loop_.watch(fd, [this, fd] { hear(fd); });
}

void Doorkeeper::hear(int fd) {
  Stranger& stranger = strangers_.at(fd);
  std::array<char, rendezvous::kAnswerSize> bytes;
  const ssize_t count = ::recv(fd, bytes.data(), rendezvous::kAnswerSize - stranger.answer.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return drop(fd);
  stranger.answer.append(bytes.data(), static_cast<std::size_t>(count));
  if (stranger.answer.size() < rendezvous::kAnswerSize) return;
  if (!rendezvous::answer_is_right(token_, stranger.nonce, stranger.answer)) return drop(fd);
  const std::string proof = rendezvous::proof_for(token_, stranger.nonce, stranger.answer);
  UniqueFd socket = std::move(stranger.socket);
  drop(fd);
  if (::send(fd, proof.data(), proof.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(proof.size())) return;
  rendezvous::tune(fd);
  admit_(std::move(socket));
}

void Doorkeeper::drop(int fd) {
  loop_.unwatch(fd);
  strangers_.erase(fd);
}

void Doorkeeper::check() {
  const auto now = Clock::now();
  for (auto entry = strangers_.begin(); entry != strangers_.end();) {
    const int fd = (entry++)->first;
    if (now > strangers_.at(fd).deadline) drop(fd);
  }
}

}  // namespace lockstep::launch

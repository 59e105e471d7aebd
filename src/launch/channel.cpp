#include "channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <lockstep/base/text.h>

#include "../base/rendezvous_socket.h"
#include "message_json.h"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHeaderSize = 4;
constexpr std::size_t kLargestMessage = std::size_t{16} << 20;
constexpr auto kSilence = 15s;

std::size_t size_in(const std::string& header) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < kHeaderSize; ++i) size = size << 8 | static_cast<unsigned char>(header[i]);
  return size;
}

std::string header_for(std::size_t size) {
  std::string header(kHeaderSize, '\0');
  for (std::size_t i = 0; i < kHeaderSize; ++i) header[i] = static_cast<char>(size >> (8 * (kHeaderSize - 1 - i)));
  return header;
}

}  // namespace

Channel::Channel(UniqueFd socket, EventLoop& loop, Handlers handlers)
    : socket_(std::move(socket)), loop_(loop), handlers_(std::move(handlers)) {
  watch();
}

Channel::~Channel() {
  if (socket_) loop_.unwatch(socket_.get());
}

std::string Channel::remote_address() const {
  return rendezvous::remote_endpoint(socket_.get()).address;
}

std::string Channel::local_address() const {
  return rendezvous::local_endpoint(socket_.get()).address;
}

void Channel::watch() {
  if (!socket_) return;
  const std::uint32_t reading = receiving_ ? std::uint32_t{EPOLLIN} : 0;
  const std::uint32_t writing = sent_ < output_.size() ? std::uint32_t{EPOLLOUT} : 0;
  loop_.watch(
      socket_.get(),
      [this] {
        if (sent_ < output_.size()) write_some();
        if (socket_ && receiving_) read_some();
      },
      reading | writing);
}

void Channel::receive(bool on) {
  if (on == receiving_) return;
  receiving_ = on;
  last_heard_ = Clock::now();  // whoever was not listened to was not silent
  watch();
}

void Channel::send(const Message& message) {
  if (!socket_) return;
  std::string bytes;
  Message::to_cbor(message, bytes);
  output_.append(header_for(bytes.size())).append(bytes);
  write_some();
}

void Channel::write_some() {
  while (sent_ < output_.size()) {
    const ssize_t count =
        ::send(socket_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return watch();
    if (count < 0) return lose(std::strerror(errno));
    sent_ += static_cast<std::size_t>(count);
  }
  output_.clear();
  sent_ = 0;
  watch();
}

void Channel::read_some() {
  std::array<char, 65536> bytes;
  const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return lose(count == 0 ? "it closed the connection" : std::strerror(errno));
  last_heard_ = Clock::now();
  input_.append(bytes.data(), static_cast<std::size_t>(count));
  take_messages();
}

void Channel::take_messages() {
  while (input_.size() >= kHeaderSize) {
    const std::size_t size = size_in(input_);
    if (size > kLargestMessage) return lose("it sent what no Lockstep of this version sends");
    if (input_.size() < kHeaderSize + size) return;
    const std::string body = input_.substr(kHeaderSize, size);
    input_.erase(0, kHeaderSize + size);
    const Message message = Message::from_cbor(body, /*strict=*/true, /*allow_exceptions=*/false);
    if (!message.is_object() || !message.contains("is")) return lose("it sent what no Lockstep of this version sends");
    if (message["is"] != "beat") handlers_.on_message(message);
    if (!socket_) return;
  }
}

void Channel::check() {
  if (!socket_) return;
  if (receiving_ && Clock::now() - last_heard_ > kSilence) {
    return lose("nothing was heard from it for " + format_duration(kSilence));
  }
  if (!is_full()) send({{"is", "beat"}});
}

void Channel::flush(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  while (socket_ && sent_ < output_.size() && Clock::now() < deadline) {
    pollfd item{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    ::poll(&item, 1, 50);
    write_some();
  }
}

void Channel::lose(const std::string& why) {
  if (!socket_) return;
  loop_.unwatch(socket_.get());
  socket_.reset();
  output_.clear();
  sent_ = 0;
  handlers_.on_loss(why);
}

}  // namespace lockstep::launch

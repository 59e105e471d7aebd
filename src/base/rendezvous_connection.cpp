#include "rendezvous_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace lockstep::rendezvous {

bool Connection::receive(std::size_t size) {
  // At most one piece a call, so that a peer with much to say does not keep others waiting; and memory is taken as
  // bytes arrive, not as they are announced.
  constexpr std::size_t kPiece = 256 << 10;
  if (input_.size() >= size) return true;
  const std::size_t before = input_.size();
  input_.resize(std::min(size, before + kPiece));
  const ssize_t count = ::recv(socket_.get(), input_.data() + before, input_.size() - before, MSG_DONTWAIT);
  const int error = errno;
  input_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return count > 0 || (count < 0 && (error == EAGAIN || error == EINTR));
}

void Connection::clear_input() {
  // A large request does not keep its memory.
  std::string().swap(input_);
}

bool Connection::send(std::string bytes) {
  output_ = std::move(bytes);
  sent_ = 0;
  return flush();
}

bool Connection::flush() {
  while (has_output()) {
    const ssize_t count =
        ::send(socket_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    sent_ += static_cast<std::size_t>(count);
  }
  std::string().swap(output_);
  sent_ = 0;
  return true;
}

void Connection::reset_at_end(bool reset) {
  const linger option{.l_onoff = reset ? 1 : 0, .l_linger = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &option, sizeof(option));
}

}  // namespace lockstep::rendezvous

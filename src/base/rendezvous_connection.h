#pragma once
#include <cstddef>
#include <string>
#include <utility>

#include <lockstep/base/fd.h>

namespace lockstep::rendezvous {

// The server's end of one connection: what has come and is not handled yet, and what could not be sent yet. No function
// blocks. Those that return false say that the connection has ended.
class Connection {
 public:
  explicit Connection(UniqueFd socket) : socket_(std::move(socket)) {}

  // Receives towards an input of `size` bytes and never a byte more. Call again when the socket can be read.
  [[nodiscard]] bool receive(std::size_t size);
  const std::string& input() const { return input_; }
  void clear_input();

  // Sends what can be sent and keeps the rest for `flush`, to be called when the socket can be written.
  [[nodiscard]] bool send(std::string bytes);
  [[nodiscard]] bool flush();
  bool has_output() const { return sent_ < output_.size(); }

  // Whether closing resets the connection, which keeps no trace of it in the kernel, or ends it in order (the default).
  void reset_at_end(bool reset);

  int socket() const { return socket_.get(); }

 private:
  UniqueFd socket_;
  std::string input_;
  std::string output_;
  std::size_t sent_ = 0;
};

}  // namespace lockstep::rendezvous

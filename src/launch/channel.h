#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include <lockstep/base/fd.h>

#include "event_loop.h"
#include "messages.h"

namespace lockstep::launch {

// A connection between the job's launcher and an agent: messages both ways, and the knowledge that the other lives. No
// function blocks, `flush` aside.
class Channel {
 public:
  struct Handlers {
    std::function<void(const Message&)> on_message;
    std::function<void(const std::string& why)> on_loss;  // called once; nothing comes after it
  };

  // `socket`: connected, the token proved on both sides. The handlers are called from within the loop and `check`.
  Channel(UniqueFd socket, EventLoop& loop, Handlers handlers);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  void send(const Message& message);

  // Whether so much waits to be sent that nothing more should be added if it can wait.
  bool is_full() const { return output_.size() - sent_ > kMuch; }

  // While it is off, messages wait at the other side.
  void receive(bool on);

  // Call about once a second: says that this side lives, and notices when the other has been silent for too long.
  void check();

  // Waits until all is sent, at most for `limit`.
  void flush(std::chrono::milliseconds limit);

  // Ends it, as if the other side had gone.
  void lose(const std::string& why);

  // Where the other side is, as this one sees it; and this one.
  std::string remote_address() const;
  std::string local_address() const;

 private:
  static constexpr std::size_t kMuch = std::size_t{4} << 20;

  void watch();
  void read_some();
  void take_messages();
  void write_some();

  UniqueFd socket_;
  EventLoop& loop_;
  const Handlers handlers_;
  std::string input_;
  std::string output_;
  std::size_t sent_ = 0;
  bool receiving_ = true;
  Clock::time_point last_heard_ = Clock::now();
};

}  // namespace lockstep::launch

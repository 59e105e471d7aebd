#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "../engine.h"
#include "frame.h"
#include "segment.h"

namespace lockstep::comm::local {

// The messages that one rank receives. A message goes into the first receive that waits for its source and tag. If none
// does, it stays in its ring, and with it what the same rank sent later, until a receive for one of those is polled;
// then it is set aside in private memory, where a later receive finds it. May be used by several threads.
class Inbox {
 public:
  // More bytes of messages than this cannot be set aside: the receive that would need it throws RuntimeError.
  static constexpr std::size_t kMostBytesAside = std::size_t{1} << 30;

  Inbox(std::shared_ptr<Segment> segment, int rank, std::size_t most_bytes_aside = kMostBytesAside);

  // The transfer shares the inbox.
  static std::unique_ptr<Transfer> start_receive(std::shared_ptr<Inbox> inbox, Block block, int source, int tag);

 private:
  class Receive;
  struct Message;
  struct Request;

  // The mutex is held in all of these.
  void match(const std::shared_ptr<Request>& request);
  void pull(int source, const Request& until_complete);
  bool pull_frame(int source);
  std::shared_ptr<Message> begin_message(int source, const Frame& frame);
  void set_aside(const std::shared_ptr<Message>& message);

  std::shared_ptr<Segment> segment_;
  int rank_;
  std::size_t most_bytes_aside_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Message>> arriving_;  // by source; the one of which the last frame has not come yet
  std::list<std::shared_ptr<Request>> waiting_;     // without a message, in the order in which they were started
  std::list<std::shared_ptr<Message>> aside_;       // without a receive, in the order in which they came
  std::size_t bytes_aside_ = 0;
};

}  // namespace lockstep::comm::local

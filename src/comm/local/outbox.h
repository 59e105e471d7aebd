#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "../engine.h"
#include "segment.h"

namespace lockstep::comm::local {

// The messages that one rank sends. Those to one destination go out one after another, in the order in which they were
// started, whichever of their transfers is polled. May be used by several threads.
class Outbox {
 public:
  Outbox(std::shared_ptr<Segment> segment, int rank);

  // The transfer shares the outbox. One that is given up before the first byte is out is never heard of; the receiver
  // of any other gets an error.
  static std::unique_ptr<Transfer> start_send(std::shared_ptr<Outbox> outbox, ConstBlock block, int destination,
                                              int tag);

 private:
  class Send;
  struct Message;

  // Fills the ring to `destination`. The mutex is held.
  void push(int destination);
  // True when something could be written.
  static bool push_frame(Message& message, Ring& ring);

  std::shared_ptr<Segment> segment_;
  int rank_;
  std::mutex mutex_;
  std::vector<std::deque<std::shared_ptr<Message>>> queues_;  // by destination; only the first may have begun
};

}  // namespace lockstep::comm::local

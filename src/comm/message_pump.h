#pragma once
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "engine_work.h"

namespace lockstep::comm {

// Moves the point-to-point messages of one engine, all at the same time, so that no order of sends and receives can
// block another. Its thread starts with the first message.
class MessagePump {
 public:
  explicit MessagePump(std::shared_ptr<Watch> watch);
  MessagePump(const MessagePump&) = delete;
  MessagePump& operator=(const MessagePump&) = delete;
  ~MessagePump();

  void add(c10::intrusive_ptr<EngineWork> work, std::unique_ptr<Transfer> transfer, std::chrono::milliseconds timeout);

 private:
  struct Message {
    c10::intrusive_ptr<EngineWork> work;
    std::unique_ptr<Transfer> transfer;
    std::unique_ptr<OperationPatience> patience;
  };

  void loop();
  // True when it is complete, one way or the other.
  bool advance(Message& message);

  std::shared_ptr<Watch> watch_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Message> arriving_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace lockstep::comm

#include "outbox.h"

#include <algorithm>
#include <utility>

#include "frame.h"

namespace lockstep::comm::local {
namespace {

// A shorter frame is written only if it is the last of its message.
constexpr std::size_t kLeastFrameBytes = 4096;

}  // namespace

struct Outbox::Message {
  ConstBlock block;
  int tag;
  std::size_t sent = 0;
  bool begun = false;
  bool given_up = false;
  bool complete = false;
};

class Outbox::Send final : public Transfer {
 public:
  Send(std::shared_ptr<Outbox> outbox, std::shared_ptr<Message> message, int destination)
      : outbox_(std::move(outbox)), message_(std::move(message)), destination_(destination) {}

  ~Send() override {
    const std::lock_guard lock(outbox_->mutex_);
    message_->given_up = !message_->complete;
  }

  bool poll() override {
    const std::lock_guard lock(outbox_->mutex_);
    if (!message_->complete) outbox_->push(destination_);
    return message_->complete;
  }

  int peer() const override { return destination_; }

 private:
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<Message> message_;
  int destination_;
};

Outbox::Outbox(std::shared_ptr<Segment> segment, int rank)
    : segment_(std::move(segment)), rank_(rank), queues_(static_cast<std::size_t>(segment_->ranks())) {}

std::unique_ptr<Transfer> Outbox::start_send(std::shared_ptr<Outbox> outbox, ConstBlock block, int destination,
                                             int tag) {
  auto message = std::make_shared<Message>(Message{.block = block, .tag = tag});
  {
    const std::lock_guard lock(outbox->mutex_);
    outbox->queues_[static_cast<std::size_t>(destination)].push_back(message);
  }
  return std::make_unique<Send>(std::move(outbox), std::move(message), destination);
}

void Outbox::push(int destination) {
  auto& queue = queues_[static_cast<std::size_t>(destination)];
  Ring& ring = segment_->ring(rank_, destination);
  while (!queue.empty()) {
    Message& message = *queue.front();
    if (!(message.given_up && !message.begun) && !push_frame(message, ring)) return;
    if (message.complete || message.given_up) queue.pop_front();
  }
}

bool Outbox::push_frame(Message& message, Ring& ring) {
  const std::size_t left = message.given_up ? 0 : message.block.bytes - message.sent;
  const std::size_t space = ring.space();
  if (space < sizeof(Frame) + std::min(left, kLeastFrameBytes)) return false;
  const std::size_t bytes = std::min(left, space - sizeof(Frame));
  const Frame frame{.left = message.given_up ? Frame::kGivenUp : left,
                    .bytes = static_cast<std::uint32_t>(bytes),
                    .tag = message.tag};
  ring.write(0, reinterpret_cast<const std::byte*>(&frame), sizeof(frame));
  ring.write(sizeof(frame), message.block.data + message.sent, bytes);
  ring.publish(frame.size_in_ring());
  message.begun = true;
  message.sent += bytes;
  message.complete = bytes == left && !message.given_up;
  return true;
}

}  // namespace lockstep::comm::local

#include "inbox.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <lockstep/base/errors.h>

namespace lockstep::comm::local {

struct Inbox::Message {
  int source;
  int tag;
  std::size_t bytes;
  std::byte* into = nullptr;  // null: nobody wants it
  std::size_t arrived = 0;
  bool given_up = false;
  std::unique_ptr<std::byte[]> aside;  // the memory, if it is set aside

  bool complete() const { return given_up || arrived == bytes; }
};

struct Inbox::Request {
  Block block;
  int source;
  int tag;
  std::shared_ptr<Message> message;

  bool wants(const Message& other) const { return (source == kAnyRank || source == other.source) && tag == other.tag; }
  bool complete() const { return message != nullptr && message->complete(); }
};

class Inbox::Receive final : public Transfer {
 public:
  Receive(std::shared_ptr<Inbox> inbox, std::shared_ptr<Request> request)
      : inbox_(std::move(inbox)), request_(std::move(request)) {}

  ~Receive() override {
    const std::lock_guard lock(inbox_->mutex_);
    inbox_->waiting_.remove(request_);
    if (Message* message = request_->message.get()) {
      message->into = nullptr;
      if (message->aside) inbox_->bytes_aside_ -= message->bytes;
    }
  }

  bool poll() override {
    if (delivered_) return true;
    const std::lock_guard lock(inbox_->mutex_);
    const bool any = request_->source == kAnyRank;
    const int first = any ? 0 : request_->source;
    const int last = any ? inbox_->segment_->ranks() - 1 : request_->source;
    for (int source = first; source <= last; ++source) inbox_->pull(source, *request_);
    if (request_->message != nullptr) require_fit(*request_->message);
    if (!request_->complete()) return false;
    deliver(*request_->message);
    return true;
  }

  int peer() const override { return request_->message != nullptr ? request_->message->source : request_->source; }

 private:
  void require_fit(const Message& message) const {
    if (message.bytes == request_->block.bytes) return;
    throw RuntimeError({.message = "a message of another size than expected came from rank " +
                                   std::to_string(message.source) + " with tag " + std::to_string(message.tag),
                        .found = std::to_string(message.bytes) + " bytes",
                        .expected = std::to_string(request_->block.bytes) + " bytes"});
  }

  void deliver(const Message& message) {
    if (message.given_up) {
      throw RuntimeError("rank " + std::to_string(message.source) + " gave up sending a message with tag " +
                         std::to_string(message.tag) + " after " + std::to_string(message.arrived) + " of " +
                         std::to_string(message.bytes) + " bytes");
    }
    if (message.aside && message.bytes != 0) std::memcpy(request_->block.data, message.aside.get(), message.bytes);
    delivered_ = true;
  }

  std::shared_ptr<Inbox> inbox_;
  std::shared_ptr<Request> request_;
  bool delivered_ = false;
};

Inbox::Inbox(std::shared_ptr<Segment> segment, int rank, std::size_t most_bytes_aside)
    : segment_(std::move(segment)),
      rank_(rank),
      most_bytes_aside_(most_bytes_aside),
      arriving_(static_cast<std::size_t>(segment_->ranks())) {}

std::unique_ptr<Transfer> Inbox::start_receive(std::shared_ptr<Inbox> inbox, Block block, int source, int tag) {
  auto request = std::make_shared<Request>(Request{.block = block, .source = source, .tag = tag, .message = nullptr});
  {
    const std::lock_guard lock(inbox->mutex_);
    inbox->match(request);
  }
  return std::make_unique<Receive>(std::move(inbox), std::move(request));
}

void Inbox::match(const std::shared_ptr<Request>& request) {
  const auto found =
      std::find_if(aside_.begin(), aside_.end(), [&](const auto& message) { return request->wants(*message); });
  if (found == aside_.end()) {
    waiting_.push_back(request);
  } else {
    request->message = *found;
    aside_.erase(found);
  }
}

void Inbox::pull(int source, const Request& until_complete) {
  while (!until_complete.complete() && pull_frame(source)) {
  }
}

bool Inbox::pull_frame(int source) {
  Ring& ring = segment_->ring(source, rank_);
  if (ring.available() == 0) return false;
  Frame frame;
  ring.read(0, reinterpret_cast<std::byte*>(&frame), sizeof(frame));
  auto& message = arriving_[static_cast<std::size_t>(source)];
  if (message == nullptr) message = begin_message(source, frame);
  if (message->into != nullptr) ring.read(sizeof(frame), message->into + message->arrived, frame.bytes);
  message->arrived += frame.bytes;
  message->given_up = frame.left == Frame::kGivenUp;
  ring.release(frame.size_in_ring());
  if (message->complete()) message.reset();
  return true;
}

std::shared_ptr<Inbox::Message> Inbox::begin_message(int source, const Frame& frame) {
  auto message = std::make_shared<Message>(Message{.source = source, .tag = frame.tag, .bytes = frame.left});
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& request) { return request->wants(*message); });
  if (found == waiting_.end()) {
    set_aside(message);
  } else {
    const auto request = *found;
    if (request->block.bytes == message->bytes) message->into = request->block.data;
    request->message = message;
    waiting_.erase(found);
  }
  return message;
}

void Inbox::set_aside(const std::shared_ptr<Message>& message) {
  if (message->bytes > most_bytes_aside_ - bytes_aside_) {
    throw RuntimeError({.message = "rank " + std::to_string(message->source) + " has sent a message with tag " +
                                   std::to_string(message->tag) + " of " + std::to_string(message->bytes) +
                                   " bytes that no receive waits for, before one that is waited for",
                        .found = std::to_string(bytes_aside_) + " bytes of such messages set aside already",
                        .expected = "at most " + std::to_string(most_bytes_aside_) + " bytes",
                        .next = "receive messages in the order in which they are sent"});
  }
  message->aside = std::make_unique_for_overwrite<std::byte[]>(message->bytes);
  message->into = message->aside.get();
  bytes_aside_ += message->bytes;
  aside_.push_back(message);
}

}  // namespace lockstep::comm::local

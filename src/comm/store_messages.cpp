#include "store_messages.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include <lockstep/base/errors.h>

namespace lockstep::comm {
namespace {

// The first chunk begins with the size of the whole message.
using Size = std::uint64_t;

// A message's place: the n-th with this tag from one rank to another.
struct Address {
  int source;
  int destination;
  int tag;
  std::uint64_t number;

  std::string chunk(std::size_t index) const {
    return fmt::format("message/{}/{}/{}/{}/{}", source, destination, tag, number, index);
  }
};

std::size_t chunks_of(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + StoreMessages::kChunkBytes - 1) / StoreMessages::kChunkBytes);
}

std::size_t chunk_bytes(std::size_t bytes, std::size_t index) {
  return std::min(bytes - index * StoreMessages::kChunkBytes, StoreMessages::kChunkBytes);
}

}  // namespace

// What the messages of one rank share.
struct StoreMessages::Office {
  c10::intrusive_ptr<c10d::Store> store;
  RankId self;
  std::mutex mutex;
  std::map<std::pair<int, int>, std::uint64_t> sent;      // by destination and tag
  std::map<std::pair<int, int>, std::uint64_t> received;  // by source and tag
  std::list<Receive*> waiting;                            // without a message yet, in the order of their start

  // Gives messages that have come to the receives that wait for them, the first to the first. The mutex is held.
  void match();
};

class StoreMessages::Send final : public Transfer {
 public:
  Send(std::shared_ptr<Office> office, ConstBlock block, const Address& address)
      : office_(std::move(office)), block_(block), address_(address) {}

  bool poll() override {
    while (next_ < chunks_of(block_.bytes)) {
      if (next_ >= kWindow && office_->store->check({address_.chunk(next_ - kWindow)})) return false;
      std::vector<std::uint8_t> value;
      if (next_ == 0) {
        const Size size = block_.bytes;
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(&size);
        value.assign(bytes, bytes + sizeof(size));
      }
      const auto* begin = reinterpret_cast<const std::uint8_t*>(block_.data) + next_ * kChunkBytes;
      value.insert(value.end(), begin, begin + chunk_bytes(block_.bytes, next_));
      office_->store->set(address_.chunk(next_), value);
      ++next_;
    }
    return true;
  }

  int peer() const override { return address_.destination; }

 private:
  std::shared_ptr<Office> office_;
  ConstBlock block_;
  Address address_;
  std::size_t next_ = 0;  // chunk to be written
};

class StoreMessages::Receive final : public Transfer {
 public:
  Receive(std::shared_ptr<Office> office, Block block, int source, int tag)
      : office_(std::move(office)), block_(block), source_(source), tag_(tag) {
    const std::lock_guard lock(office_->mutex);
    office_->waiting.push_back(this);
  }

  ~Receive() override {
    const std::lock_guard lock(office_->mutex);
    office_->waiting.remove(this);
  }

  bool poll() override {
    if (!address_) {
      const std::lock_guard lock(office_->mutex);
      office_->match();
    }
    while (address_ && next_ < chunks_of(block_.bytes)) {
      if (!office_->store->check({address_->chunk(next_)})) return false;
      take(office_->store->get(address_->chunk(next_)));
      office_->store->deleteKey(address_->chunk(next_));
      ++next_;
    }
    return address_.has_value();
  }

  int peer() const override { return address_ ? address_->source : source_; }

  // Takes the next message with its tag from `source`, if there is one.
  bool matches(int source) {
    if (source_ != kAnyRank && source_ != source) return false;
    auto& number = office_->received[{source, tag_}];
    const Address address{source, office_->self.rank, tag_, number};
    if (!office_->store->check({address.chunk(0)})) return false;
    ++number;
    address_ = address;
    return true;
  }

 private:
  void take(const std::vector<std::uint8_t>& value) {
    std::size_t header = 0;
    if (next_ == 0) {
      header = sizeof(Size);
      Size size = 0;
      if (value.size() >= header) std::memcpy(&size, value.data(), header);
      if (value.size() < header || size != block_.bytes) {
        throw RuntimeError(
            {.message = fmt::format("a message of another size than expected came from rank {} with tag {}",
                                    address_->source, tag_),
             .found = fmt::format("{} bytes", size),
             .expected = fmt::format("{} bytes", block_.bytes)});
      }
    }
    const std::size_t bytes = chunk_bytes(block_.bytes, next_);
    if (value.size() != header + bytes) throw RuntimeError("a chunk of a message in the store has a wrong size");
    if (bytes != 0) std::memcpy(block_.data + next_ * kChunkBytes, value.data() + header, bytes);
  }

  std::shared_ptr<Office> office_;
  Block block_;
  int source_;
  int tag_;
  std::optional<Address> address_;
  std::size_t next_ = 0;  // chunk to be read
};

void StoreMessages::Office::match() {
  waiting.remove_if([this](Receive* receive) {
    for (int source = 0; source < self.size; ++source) {
      if (receive->matches(source)) return true;
    }
    return false;
  });
}

StoreMessages::StoreMessages(c10::intrusive_ptr<c10d::Store> store, RankId self) : office_(std::make_shared<Office>()) {
  office_->store = std::move(store);
  office_->self = self;
}

std::unique_ptr<Transfer> StoreMessages::start_send(ConstBlock block, int destination, int tag) {
  const std::lock_guard lock(office_->mutex);
  const Address address{office_->self.rank, destination, tag, office_->sent[{destination, tag}]++};
  return std::make_unique<Send>(office_, block, address);
}

std::unique_ptr<Transfer> StoreMessages::start_receive(Block block, int source, int tag) {
  return std::make_unique<Receive>(office_, block, source, tag);
}

}  // namespace lockstep::comm

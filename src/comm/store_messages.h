// Messages between ranks through the job's store: slow, but they need no connection of their own, pass wherever the
// ranks could meet, and are as well guarded as the store.
#pragma once
#include <memory>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <lockstep/base/rank.h>

#include "engine.h"

namespace lockstep::comm {

// One rank's side. Messages are cut into chunks; a sender is at most kWindow chunks ahead of its receiver, so the store
// holds little. The transfers share what this object holds, and may outlive it. They may be used by several threads.
class StoreMessages {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  static constexpr std::size_t kWindow = 4;

  // `store` is this group's alone. None of our calls waits in it, so others may use it at the same time.
  StoreMessages(c10::intrusive_ptr<c10d::Store> store, RankId self);

  // As Engine's. A message that is given up before it is out is missed by its receiver, whose deadline ends the wait.
  std::unique_ptr<Transfer> start_send(ConstBlock block, int destination, int tag);
  std::unique_ptr<Transfer> start_receive(Block block, int source, int tag);

 private:
  class Send;
  class Receive;
  struct Office;
  std::shared_ptr<Office> office_;
};

}  // namespace lockstep::comm

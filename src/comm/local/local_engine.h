#pragma once
#include <memory>

#include "../engine.h"
#include "inbox.h"
#include "outbox.h"
#include "rounds.h"
#include "segment.h"

namespace lockstep::comm::local {

// The engine of one rank in memory that it shares with the others. With one rank, nothing is shared or copied.
class LocalEngine final : public Engine {
 public:
  LocalEngine(std::shared_ptr<Segment> segment, int rank);

  void all_reduce(Elements elements, Reduce op, const Patience& patience) override;
  void reduce(Elements elements, Reduce op, int root, const Patience& patience) override;
  void reduce_scatter(Elements input, Elements output, Reduce op, const Patience& patience) override;
  void broadcast(Block block, int root, const Patience& patience) override;
  void all_gather(ConstBlock input, std::span<const Block> outputs, const Patience& patience) override;
  void exchange(std::span<const ConstBlock> inputs, std::span<const Block> outputs, const Patience& patience) override;
  std::unique_ptr<Transfer> start_send(ConstBlock block, int destination, int tag) override;
  std::unique_ptr<Transfer> start_receive(Block block, int source, int tag) override;
  void barrier(const Patience& patience) override;

 private:
  Rounds rounds_;
  std::shared_ptr<Outbox> outbox_;
  std::shared_ptr<Inbox> inbox_;
};

}  // namespace lockstep::comm::local

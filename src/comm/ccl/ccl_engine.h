// The `ccl` engine: oneCCL's collectives, and what it lacks built from them.
#pragma once
#include <memory>

#include <lockstep/base/rank.h>

#include "../engine.h"
#include "communicator.h"

namespace lockstep::comm::ccl {

// Point to point, which oneCCL has only without tags, without a source that is left open, and in an agreed order.
class Messages {
 public:
  virtual ~Messages() = default;
  virtual std::unique_ptr<Transfer> start_send(ConstBlock block, int destination, int tag) = 0;
  virtual std::unique_ptr<Transfer> start_receive(Block block, int source, int tag) = 0;
};

// With one rank there is no communicator, and oneCCL is not asked.
class CclEngine final : public Engine {
 public:
  CclEngine(RankId self, std::unique_ptr<Communicator> communicator, std::unique_ptr<Messages> messages);

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
  bool alone() const { return self_.size == 1; }

  RankId self_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Messages> messages_;
};

}  // namespace lockstep::comm::ccl

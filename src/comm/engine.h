// How bytes move between ranks: what each backend of ours (local, mpi, ccl) must be able to do, in blocking calls.
// EngineBackend makes a c10d::Backend of it, with tensors, a queue, and futures.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <c10/core/ScalarType.h>

#include <lockstep/comm/reduce.h>

namespace lockstep::comm {

struct Block {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};
struct ConstBlock {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

// Elements that are reduced.
struct Elements {
  void* data = nullptr;
  std::int64_t count = 0;
  c10::ScalarType type = c10::ScalarType::Float;
};

// How long an engine may wait. Asked at least every 50 ms by an engine that waits for another rank.
class Patience {
 public:
  virtual ~Patience() = default;
  // Throws when the operation must be given up: its deadline has passed, or a rank of the group is lost.
  virtual void check() const = 0;
};

inline constexpr int kAnyRank = -1;

// A message under way. Destroying one that is not complete gives it up.
class Transfer {
 public:
  virtual ~Transfer() = default;
  // Moves it on as far as it goes without waiting; true when it is complete: the block may be reused, or is filled.
  // Throws RuntimeError when a message of another size than expected arrives.
  virtual bool poll() = 0;
  // The rank at the other end; of a receive from any rank, once it is complete.
  virtual int peer() const = 0;
};

// One rank's side of a group. Collectives are called from one thread at a time; every rank of the group makes the same
// collective calls in the same order, with the same sizes and types where the call demands it. Sizes may be zero,
// counts may exceed 2^31.
//
// After a call has thrown, the engine is unusable and is only destroyed.
class Engine {
 public:
  virtual ~Engine() = default;

  // The result is bit-equal on every rank and the same in every run.
  virtual void all_reduce(Elements elements, Reduce op, const Patience& patience) = 0;

  // As all_reduce, but only `root` needs the result; the others' elements are undefined afterwards.
  virtual void reduce(Elements elements, Reduce op, int root, const Patience& patience) = 0;

  // Block i of `input`, which has one block of the same count for each rank laid end to end, reduced over all ranks,
  // arrives in `output` on rank i. `input` may be overwritten.
  virtual void reduce_scatter(Elements input, Elements output, Reduce op, const Patience& patience) = 0;

  virtual void broadcast(Block block, int root, const Patience& patience) = 0;

  // `outputs[i]` becomes rank i's `input`; sizes may differ between ranks but are known to all. `input` may be
  // `outputs[rank]` itself.
  virtual void all_gather(ConstBlock input, std::span<const Block> outputs, const Patience& patience) = 0;

  // `inputs[i]` goes to rank i, `outputs[i]` comes from rank i; the two ends agree on each size. With empty blocks this
  // is also gather and scatter.
  virtual void exchange(std::span<const ConstBlock> inputs, std::span<const Block> outputs,
                        const Patience& patience) = 0;

  // Point to point. Both calls return at once; the transfer moves on when it is polled, in any order. Messages between
  // two ranks with one tag arrive in the order in which they were started. `source` may be kAnyRank. The engine may be
  // asked for these from another thread than for the collectives above, at the same time.
  virtual std::unique_ptr<Transfer> start_send(ConstBlock block, int destination, int tag) = 0;
  virtual std::unique_ptr<Transfer> start_receive(Block block, int source, int tag) = 0;

  virtual void barrier(const Patience& patience) = 0;
};

}  // namespace lockstep::comm

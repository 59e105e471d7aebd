#include "local_engine.h"

#include <cstring>
#include <utility>

#include "move.h"
#include "reduce.h"
#include "reduction.h"

namespace lockstep::comm::local {

LocalEngine::LocalEngine(std::shared_ptr<Segment> segment, int rank)
    : rounds_(segment, rank),
      outbox_(std::make_shared<Outbox>(segment, rank)),
      inbox_(std::make_shared<Inbox>(std::move(segment), rank)) {}

void LocalEngine::all_reduce(Elements elements, Reduce op, const Patience& patience) {
  const Reduction reduction = find_reduction(elements.type, op);
  if (rounds_.size() > 1) local::all_reduce(rounds_, elements, reduction, patience);
}

void LocalEngine::reduce(Elements elements, Reduce op, int root, const Patience& patience) {
  const Reduction reduction = find_reduction(elements.type, op);
  if (rounds_.size() > 1) local::reduce(rounds_, elements, reduction, root, patience);
}

void LocalEngine::reduce_scatter(Elements input, Elements output, Reduce op, const Patience& patience) {
  const Reduction reduction = find_reduction(input.type, op);
  if (rounds_.size() > 1) {
    local::reduce_scatter(rounds_, input, output, reduction, patience);
  } else if (input.data != output.data) {
    std::memcpy(output.data, input.data, static_cast<std::size_t>(input.count) * reduction.element_bytes);
  }
}

void LocalEngine::broadcast(Block block, int root, const Patience& patience) {
  local::broadcast(rounds_, block, root, patience);
}

void LocalEngine::all_gather(ConstBlock input, std::span<const Block> outputs, const Patience& patience) {
  local::all_gather(rounds_, input, outputs, patience);
}

void LocalEngine::exchange(std::span<const ConstBlock> inputs, std::span<const Block> outputs,
                           const Patience& patience) {
  local::exchange(rounds_, inputs, outputs, patience);
}

std::unique_ptr<Transfer> LocalEngine::start_send(ConstBlock block, int destination, int tag) {
  return Outbox::start_send(outbox_, block, destination, tag);
}

std::unique_ptr<Transfer> LocalEngine::start_receive(Block block, int source, int tag) {
  return Inbox::start_receive(inbox_, block, source, tag);
}

void LocalEngine::barrier(const Patience& patience) {
  local::barrier(rounds_, patience);
}

}  // namespace lockstep::comm::local

#include "mpi_engine.h"

#include <cstring>

#include "bytes_type.h"
#include "check.h"
#include "requests.h"
#include "transfer.h"

namespace lockstep::comm::mpi {
namespace {

constexpr int kMovesTag = 2;  // reductions have others

void copy(Block to, ConstBlock from) {
  if (from.bytes != 0 && to.data != from.data) std::memmove(to.data, from.data, from.bytes);
}

}  // namespace

MpiEngine::MpiEngine(std::span<const int> world_ranks)
    : collectives_(world_ranks), messages_(collectives_.get()), reducer_{collectives_, {}} {}

void MpiEngine::all_reduce(Elements elements, Reduce op, const Patience& patience) {
  const Reduction reduction = local::find_reduction(elements.type, op);
  if (collectives_.size() > 1) mpi::all_reduce(reducer_, elements, reduction, patience);
}

void MpiEngine::reduce(Elements elements, Reduce op, int root, const Patience& patience) {
  const Reduction reduction = local::find_reduction(elements.type, op);
  if (collectives_.size() > 1) mpi::reduce(reducer_, elements, reduction, root, patience);
}

void MpiEngine::reduce_scatter(Elements input, Elements output, Reduce op, const Patience& patience) {
  const Reduction reduction = local::find_reduction(input.type, op);
  const std::size_t bytes = static_cast<std::size_t>(output.count) * reduction.element_bytes;
  if (collectives_.size() > 1) {
    mpi::reduce_scatter(reducer_, input, output, reduction, patience);
  } else {
    copy({static_cast<std::byte*>(output.data), bytes}, {static_cast<const std::byte*>(input.data), bytes});
  }
}

void MpiEngine::broadcast(Block block, int root, const Patience& patience) {
  if (collectives_.size() == 1) return;
  // In parts: MPICH 4.0 fails in MPI_Ibcast beyond 2^31 bytes, whatever type they are under.
  for (std::size_t begin = 0; begin < block.bytes; begin += kLargestPlain) {
    const auto bytes = static_cast<int>(std::min(block.bytes - begin, kLargestPlain));
    Requests requests;
    requests.start([&](MPI_Request& request) {
      LOCKSTEP_CHECK_MPI(MPI_Ibcast(block.data + begin, bytes, MPI_BYTE, root, collectives_.get(), &request));
    });
    requests.wait(patience);
  }
}

void MpiEngine::all_gather(ConstBlock input, std::span<const Block> outputs, const Patience& patience) {
  const std::vector<ConstBlock> inputs(outputs.size(), input);
  exchange(inputs, outputs, patience);
}

void MpiEngine::exchange(std::span<const ConstBlock> inputs, std::span<const Block> outputs, const Patience& patience) {
  const int self = collectives_.rank();
  std::vector<Message> messages;
  for (int i = 1; i < collectives_.size(); ++i) {
    const int peer = (self + i) % collectives_.size();
    const Block output = outputs[static_cast<std::size_t>(peer)];
    const ConstBlock input = inputs[static_cast<std::size_t>(peer)];
    if (output.bytes != 0) messages.push_back({Message::kReceive, peer, output.data, output.bytes});
    if (input.bytes != 0) {
      messages.push_back({Message::kSend, peer, const_cast<std::byte*>(input.data), input.bytes});
    }
  }
  Requests requests;
  requests.start(collectives_.get(), messages, kMovesTag);
  copy(outputs[static_cast<std::size_t>(self)], inputs[static_cast<std::size_t>(self)]);
  requests.wait(patience);
}

std::unique_ptr<Transfer> MpiEngine::start_send(ConstBlock block, int destination, int tag) {
  return mpi::start_send(messages_.get(), block, destination, tag);
}

std::unique_ptr<Transfer> MpiEngine::start_receive(Block block, int source, int tag) {
  return mpi::start_receive(messages_.get(), block, source, tag);
}

void MpiEngine::barrier(const Patience& patience) {
  Requests requests;
  requests.start([&](MPI_Request& request) { LOCKSTEP_CHECK_MPI(MPI_Ibarrier(collectives_.get(), &request)); });
  requests.wait(patience);
}

}  // namespace lockstep::comm::mpi

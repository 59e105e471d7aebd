#include "ccl_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../local/reduction.h"
#include "reduce.h"
#include "worker.h"

namespace lockstep::comm::ccl {
namespace {

constexpr auto kBytes = ::ccl::datatype::uint8;

// Where nothing is, oneCCL still wants a pointer.
void* somewhere(const std::byte* data) {
  static std::byte nothing{};
  return data != nullptr ? const_cast<std::byte*>(data) : &nothing;  // NOLINT: its interface takes no const
}

template <typename Blocks>
::ccl::vector_class<std::size_t> counts_of(const Blocks& blocks) {
  ::ccl::vector_class<std::size_t> counts;
  for (const auto& block : blocks) counts.push_back(block.bytes);
  return counts;
}

void copy(ConstBlock from, Block to) {
  if (from.bytes != 0 && from.data != to.data) std::memcpy(to.data, from.data, from.bytes);
}

// Blocks as oneCCL's all-to-all wants them, end to end. Where they are not, there is memory in which they can be.
template <typename AnyBlock>
class EndToEnd {
 public:
  explicit EndToEnd(std::span<const AnyBlock> blocks) : blocks_(blocks) {
    for (const AnyBlock& block : blocks) {
      if (block.bytes == 0) continue;
      if (begin_ == nullptr) begin_ = block.data;
      in_place_ = in_place_ && block.data == begin_ + bytes_;
      bytes_ += block.bytes;
    }
    if (!in_place_) memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes_);
  }

  void* data() const { return memory_ ? memory_.get() : somewhere(begin_); }

  void copy_in() {
    for_each([](std::byte* here, const AnyBlock& block) { copy({block.data, block.bytes}, {here, block.bytes}); });
  }
  void copy_out() {
    for_each([](std::byte* here, const AnyBlock& block) { copy({here, block.bytes}, block); });
  }

 private:
  template <typename Copy>
  void for_each(Copy&& copy_block) {
    if (!memory_) return;
    std::byte* here = memory_.get();
    for (const AnyBlock& block : blocks_) {
      copy_block(here, block);
      here += block.bytes;
    }
  }

  std::span<const AnyBlock> blocks_;
  decltype(AnyBlock::data) begin_ = nullptr;
  std::size_t bytes_ = 0;
  bool in_place_ = true;
  std::unique_ptr<std::byte[]> memory_;
};

template <typename T>
void divide(Elements elements, int by) {
  auto* values = static_cast<T*>(elements.data);
  for (std::int64_t i = 0; i < elements.count; ++i) values[i] /= static_cast<T>(by);
}

bool is_average_of_sums(c10::ScalarType type, Reduce op) {
  return op == Reduce::kAverage && (type == c10::ScalarType::Float || type == c10::ScalarType::Double);
}

}  // namespace

CclEngine::CclEngine(RankId self, std::unique_ptr<Communicator> communicator, std::unique_ptr<Messages> messages)
    : self_(self), communicator_(std::move(communicator)), messages_(std::move(messages)) {}

void CclEngine::all_reduce(Elements elements, Reduce op, const Patience& patience) {
  local::find_reduction(elements.type, op);  // refuses what there is no reduction for
  if (alone() || elements.count == 0) return;
  if (is_average_of_sums(elements.type, op)) {
    all_reduce(elements, Reduce::kSum, patience);
    if (elements.type == c10::ScalarType::Float) divide<float>(elements, self_.size);
    if (elements.type == c10::ScalarType::Double) divide<double>(elements, self_.size);
    return;
  }
  const auto native = native_reduction(elements.type, op);
  if (!native) return ReductionByHand(*this, self_.rank, self_.size).all_reduce(elements, op, patience);
  Worker::get().complete(
      [&] {
        return ::ccl::allreduce(elements.data, elements.data, static_cast<std::size_t>(elements.count), native->type,
                                native->operation, communicator_->get());
      },
      patience);
}

void CclEngine::reduce(Elements elements, Reduce op, int root, const Patience& patience) {
  const auto native = native_reduction(elements.type, op);
  if (alone() || elements.count == 0 || !native) return all_reduce(elements, op, patience);
  Worker::get().complete(
      [&] {
        return ::ccl::reduce(elements.data, elements.data, static_cast<std::size_t>(elements.count), native->type,
                             native->operation, root, communicator_->get());
      },
      patience);
}

void CclEngine::reduce_scatter(Elements input, Elements output, Reduce op, const Patience& patience) {
  const local::Reduction reduction = local::find_reduction(input.type, op);
  if (output.count == 0) return;
  if (alone()) {
    const std::size_t bytes = static_cast<std::size_t>(input.count) * reduction.element_bytes;
    copy({static_cast<std::byte*>(input.data), bytes}, {static_cast<std::byte*>(output.data), bytes});
    return;
  }
  const auto native = native_reduction(input.type, op);
  if (!native) return ReductionByHand(*this, self_.rank, self_.size).reduce_scatter(input, output, op, patience);
  Worker::get().complete(
      [&] {
        return ::ccl::reduce_scatter(input.data, output.data, static_cast<std::size_t>(output.count), native->type,
                                     native->operation, communicator_->get());
      },
      patience);
}

void CclEngine::broadcast(Block block, int root, const Patience& patience) {
  if (alone() || block.bytes == 0) return;
  Worker::get().complete([&] { return ::ccl::broadcast(block.data, block.bytes, kBytes, root, communicator_->get()); },
                         patience);
}

void CclEngine::all_gather(ConstBlock input, std::span<const Block> outputs, const Patience& patience) {
  if (alone()) return copy(input, outputs[0]);
  if (std::all_of(outputs.begin(), outputs.end(), [](const Block& block) { return block.bytes == 0; })) return;
  const auto counts = counts_of(outputs);
  ::ccl::vector_class<void*> received;
  for (const Block& block : outputs) received.push_back(somewhere(block.data));
  Worker::get().complete(
      [&] {
        return ::ccl::allgatherv(somewhere(input.data), input.bytes, received, counts, kBytes, communicator_->get());
      },
      patience);
}

void CclEngine::exchange(std::span<const ConstBlock> inputs, std::span<const Block> outputs, const Patience& patience) {
  if (alone()) return copy(inputs[0], outputs[0]);
  EndToEnd sent(inputs);
  EndToEnd received(outputs);
  sent.copy_in();
  Worker::get().complete(
      [&] {
        return ::ccl::alltoallv(sent.data(), counts_of(inputs), received.data(), counts_of(outputs), kBytes,
                                communicator_->get());
      },
      patience);
  received.copy_out();
}

std::unique_ptr<Transfer> CclEngine::start_send(ConstBlock block, int destination, int tag) {
  return messages_->start_send(block, destination, tag);
}

std::unique_ptr<Transfer> CclEngine::start_receive(Block block, int source, int tag) {
  return messages_->start_receive(block, source, tag);
}

// oneCCL's own barrier cannot be given up.
void CclEngine::barrier(const Patience& patience) {
  std::int32_t arrived = 1;
  all_reduce({&arrived, 1, c10::ScalarType::Int}, Reduce::kSum, patience);
}

}  // namespace lockstep::comm::ccl

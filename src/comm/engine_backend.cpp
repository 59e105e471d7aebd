#include "engine_backend.h"

#include <ATen/ops/cat.h>
#include <fmt/format.h>

#include <lockstep/base/errors.h>

#include "tensor_blocks.h"

namespace lockstep::comm {
namespace {

using Tensors = EngineBackend::Tensors;

std::vector<Block> blocks_of(const char* operation, const Tensors& tensors) {
  std::vector<Block> blocks;
  for (const at::Tensor& tensor : tensors) blocks.push_back(contiguous_block(operation, tensor));
  return blocks;
}

std::vector<ConstBlock> read_only(const std::vector<Block>& blocks) {
  std::vector<ConstBlock> result;
  for (const Block& block : blocks) result.push_back({block.data, block.bytes});
  return result;
}

void require_count(const char* operation, std::size_t found, int expected) {
  if (std::cmp_equal(found, expected)) return;
  throw UsageError({.message = fmt::format("{}: one tensor for each rank", operation),
                    .found = std::to_string(found),
                    .expected = std::to_string(expected)});
}

}  // namespace

EngineBackend::EngineBackend(std::string name, RankId rank, std::unique_ptr<Engine> engine,
                             std::chrono::milliseconds timeout, std::shared_ptr<Watch> watch)
    : Backend(rank.rank, rank.size),
      name_(std::move(name)),
      timeout_(timeout),
      watch_(watch),
      engine_(std::move(engine)),
      messages_(watch),
      collectives_("ls-" + name_, watch) {}

EngineBackend::~EngineBackend() = default;

EngineBackend::WorkPtr EngineBackend::start(Call call, WorkQueue::Task task) {
  Operation operation = watch_->begin(call.name, call.results, call.detail);
  auto work = c10::make_intrusive<EngineWork>(call.type, std::move(operation), std::move(call.results));
  const auto timeout = call.timeout == c10d::kUnsetTimeout ? timeout_ : call.timeout;
  collectives_.start({work, std::move(task), timeout}, call.async);
  return work;
}

EngineBackend::WorkPtr EngineBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const Block block = dense_block("broadcast", only("broadcast", tensors));
  require_rank("broadcast", options.rootRank, getSize());
  return start({c10d::OpType::BROADCAST, "broadcast", tensors, options.timeout, options.asyncOp,
                fmt::format("from rank {}", options.rootRank)},
               [this, block, root = static_cast<int>(options.rootRank)](const Patience& patience) {
                 engine_->broadcast(block, root, patience);
               });
}

EngineBackend::WorkPtr EngineBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  const Reduce op = to_reduce("all_reduce", options.reduceOp);
  const Elements elements = reducible("all_reduce", only("all_reduce", tensors), op);
  return start({c10d::OpType::ALLREDUCE, "all_reduce", tensors, options.timeout, options.asyncOp, to_text(op)},
               [this, elements, op](const Patience& patience) { engine_->all_reduce(elements, op, patience); });
}

EngineBackend::WorkPtr EngineBackend::allreduce_coalesced(Tensors& tensors,
                                                          const c10d::AllreduceCoalescedOptions& options) {
  const Reduce op = to_reduce("all_reduce", options.reduceOp);
  std::vector<Elements> all;
  for (const at::Tensor& tensor : tensors) all.push_back(reducible("all_reduce", tensor, op));
  return start({c10d::OpType::ALLREDUCE_COALESCED, "all_reduce", tensors, options.timeout, options.asyncOp},
               [this, all, op](const Patience& patience) {
                 for (const Elements& elements : all) engine_->all_reduce(elements, op, patience);
               });
}

EngineBackend::WorkPtr EngineBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const Reduce op = to_reduce("reduce", options.reduceOp);
  const at::Tensor& tensor = only("reduce", tensors);
  reducible("reduce", tensor, op);
  require_rank("reduce", options.rootRank, getSize());
  const int root = static_cast<int>(options.rootRank);
  // The engine may overwrite what is no result; the tensors of other ranks must stay as they are.
  const at::Tensor scratch = getRank() == root ? tensor : tensor.clone();
  const Elements elements = reducible("reduce", scratch, op);
  return start(
      {c10d::OpType::REDUCE, "reduce", tensors, options.timeout, options.asyncOp,
       fmt::format("{} to rank {}", to_text(op), root)},
      [this, elements, op, root, scratch](const Patience& patience) { engine_->reduce(elements, op, root, patience); });
}

EngineBackend::WorkPtr EngineBackend::allgather(TensorLists& outputs, Tensors& inputs,
                                                const c10d::AllgatherOptions& options) {
  const at::Tensor& input = only("all_gather", inputs);
  if (outputs.size() != 1) throw UsageError("all_gather: one list of outputs");
  require_count("all_gather", outputs[0].size(), getSize());
  const Block mine = contiguous_block("all_gather", input);
  const auto blocks = blocks_of("all_gather", outputs[0]);
  if (blocks[static_cast<std::size_t>(getRank())].bytes != mine.bytes) {
    throw UsageError("all_gather: the output for this rank has another size than its input");
  }
  return start({c10d::OpType::ALLGATHER, "all_gather", outputs[0], options.timeout, options.asyncOp},
               [this, mine, blocks, input](const Patience& patience) {
                 engine_->all_gather({mine.data, mine.bytes}, blocks, patience);
               });
}

EngineBackend::WorkPtr EngineBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::AllgatherOptions& options) {
  Tensors outputs{output}, inputs{input};
  return allgather_into_tensor_coalesced(outputs, inputs, options);
}

EngineBackend::WorkPtr EngineBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                      const c10d::AllgatherOptions& options) {
  if (outputs.size() != inputs.size()) throw UsageError("all_gather: as many outputs as inputs");
  std::vector<std::pair<Block, std::vector<Block>>> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Block mine = contiguous_block("all_gather", inputs[i]);
    const at::Tensor flat = outputs[i].is_contiguous() ? outputs[i].view(-1) : outputs[i];
    pairs.emplace_back(mine, cut("all_gather", flat, {}, getSize()));
    if (pairs.back().second.front().bytes != mine.bytes) {
      throw UsageError({.message = "all_gather: the output does not hold the inputs of all ranks",
                        .found = describe_tensor(outputs[i]) + " for " + describe_tensor(inputs[i]),
                        .expected = fmt::format("{} times its elements", getSize())});
    }
  }
  return start({c10d::OpType::_ALLGATHER_BASE, "all_gather", outputs, options.timeout, options.asyncOp},
               [this, pairs, inputs](const Patience& patience) {
                 for (const auto& [mine, blocks] : pairs)
                   engine_->all_gather({mine.data, mine.bytes}, blocks, patience);
               });
}

EngineBackend::WorkPtr EngineBackend::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                                          const c10d::AllgatherOptions& options) {
  require_count("all_gather", outputs.size(), getSize());
  std::vector<std::pair<Block, std::vector<Block>>> pairs;
  Tensors results;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto& [mine, blocks] = pairs.emplace_back(contiguous_block("all_gather", inputs[i]), std::vector<Block>{});
    for (const Tensors& list : outputs) {
      if (list.size() != inputs.size()) throw UsageError("all_gather: as many outputs from each rank as inputs");
      blocks.push_back(contiguous_block("all_gather", list[i]));
      results.push_back(list[i]);
    }
  }
  return start({c10d::OpType::ALLGATHER_COALESCED, "all_gather", results, options.timeout, options.asyncOp},
               [this, pairs, inputs](const Patience& patience) {
                 for (const auto& [mine, blocks] : pairs)
                   engine_->all_gather({mine.data, mine.bytes}, blocks, patience);
               });
}

EngineBackend::WorkPtr EngineBackend::gather(TensorLists& outputs, Tensors& inputs,
                                             const c10d::GatherOptions& options) {
  require_rank("gather", options.rootRank, getSize());
  const at::Tensor& input = only("gather", inputs);
  const Block mine = contiguous_block("gather", input);
  const auto size = static_cast<std::size_t>(getSize());
  std::vector<ConstBlock> sent(size);
  sent[static_cast<std::size_t>(options.rootRank)] = {mine.data, mine.bytes};
  std::vector<Block> received(size);
  Tensors results;
  if (getRank() == options.rootRank) {
    if (outputs.size() != 1) throw UsageError("gather: one list of outputs on the root");
    require_count("gather", outputs[0].size(), getSize());
    results = outputs[0];
    received = blocks_of("gather", results);
  }
  return start(
      {c10d::OpType::GATHER, "gather", results, options.timeout, options.asyncOp},
      [this, sent, received, input](const Patience& patience) { engine_->exchange(sent, received, patience); });
}

EngineBackend::WorkPtr EngineBackend::scatter(Tensors& outputs, TensorLists& inputs,
                                              const c10d::ScatterOptions& options) {
  require_rank("scatter", options.rootRank, getSize());
  const at::Tensor& output = only("scatter", outputs);
  const auto size = static_cast<std::size_t>(getSize());
  std::vector<Block> received(size);
  received[static_cast<std::size_t>(options.rootRank)] = contiguous_block("scatter", output);
  std::vector<ConstBlock> sent(size);
  Tensors sources;
  if (getRank() == options.rootRank) {
    if (inputs.size() != 1) throw UsageError("scatter: one list of inputs on the root");
    require_count("scatter", inputs[0].size(), getSize());
    sources = inputs[0];
    sent = read_only(blocks_of("scatter", sources));
  }
  return start(
      {c10d::OpType::SCATTER, "scatter", outputs, options.timeout, options.asyncOp},
      [this, sent, received, sources](const Patience& patience) { engine_->exchange(sent, received, patience); });
}

EngineBackend::WorkPtr EngineBackend::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                                     const c10d::ReduceScatterOptions& options) {
  if (inputs.size() != 1) throw UsageError("reduce_scatter: one list of inputs");
  require_count("reduce_scatter", inputs[0].size(), getSize());
  Tensors flat;
  for (const at::Tensor& tensor : inputs[0]) flat.push_back(tensor.reshape({-1}));
  Tensors joined{at::cat(flat)};
  return reduce_scatter_tensor_coalesced(outputs, joined, options);
}

EngineBackend::WorkPtr EngineBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                           const c10d::ReduceScatterOptions& options) {
  Tensors outputs{output}, inputs{input};
  return reduce_scatter_tensor_coalesced(outputs, inputs, options);
}

EngineBackend::WorkPtr EngineBackend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                      const c10d::ReduceScatterOptions& options) {
  if (outputs.size() != inputs.size()) throw UsageError("reduce_scatter: as many outputs as inputs");
  const Reduce op = to_reduce("reduce_scatter", options.reduceOp);
  struct Pair {
    at::Tensor scratch;  // a copy: the engine overwrites its input
    Elements input, output;
  };
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    contiguous_block("reduce_scatter", inputs[i]);
    contiguous_block("reduce_scatter", outputs[i]);
    const at::Tensor scratch = inputs[i].clone();
    pairs.push_back({scratch, reducible("reduce_scatter", scratch, op), reducible("reduce_scatter", outputs[i], op)});
    const Pair& pair = pairs.back();
    if (pair.input.type != pair.output.type || pair.input.count != pair.output.count * getSize()) {
      throw UsageError({.message = "reduce_scatter: the input is not the output times the number of ranks",
                        .found = describe_tensor(inputs[i]) + " for " + describe_tensor(outputs[i])});
    }
  }
  return start(
      {c10d::OpType::_REDUCE_SCATTER_BASE, "reduce_scatter", outputs, options.timeout, options.asyncOp, to_text(op)},
      [this, pairs, op](const Patience& patience) {
        for (const Pair& pair : pairs) engine_->reduce_scatter(pair.input, pair.output, op, patience);
      });
}

EngineBackend::WorkPtr EngineBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                    std::vector<std::int64_t>& output_sizes,
                                                    std::vector<std::int64_t>& input_sizes,
                                                    const c10d::AllToAllOptions& options) {
  contiguous_block("all_to_all", output);
  contiguous_block("all_to_all", input);
  const auto received = cut("all_to_all", output, output_sizes, getSize());
  const auto sent = read_only(cut("all_to_all", input, input_sizes, getSize()));
  return start(
      {c10d::OpType::ALLTOALL_BASE, "all_to_all", {output}, options.timeout, options.asyncOp},
      [this, sent, received, input](const Patience& patience) { engine_->exchange(sent, received, patience); });
}

EngineBackend::WorkPtr EngineBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                               const c10d::AllToAllOptions& options) {
  require_count("all_to_all", outputs.size(), getSize());
  require_count("all_to_all", inputs.size(), getSize());
  const auto received = blocks_of("all_to_all", outputs);
  const auto sent = read_only(blocks_of("all_to_all", inputs));
  return start(
      {c10d::OpType::ALLTOALL, "all_to_all", outputs, options.timeout, options.asyncOp},
      [this, sent, received, inputs](const Patience& patience) { engine_->exchange(sent, received, patience); });
}

EngineBackend::WorkPtr EngineBackend::start_message(c10d::OpType type, const char* name, const at::Tensor& tensor,
                                                    std::unique_ptr<Transfer> transfer) {
  auto work = c10::make_intrusive<EngineWork>(type, watch_->begin_message(name, tensor), Tensors{tensor});
  messages_.add(work, std::move(transfer), timeout_);
  return work;
}

EngineBackend::WorkPtr EngineBackend::send(Tensors& tensors, int destination, int tag) {
  const at::Tensor& tensor = only("send", tensors);
  require_rank("send", destination, getSize());
  const Block block = contiguous_block("send", tensor);
  return start_message(c10d::OpType::SEND, "send", tensor,
                       engine_->start_send({block.data, block.bytes}, destination, tag));
}

EngineBackend::WorkPtr EngineBackend::recv(Tensors& tensors, int source, int tag) {
  const at::Tensor& tensor = only("receive", tensors);
  require_rank("receive", source, getSize());
  return start_message(c10d::OpType::RECV, "receive", tensor,
                       engine_->start_receive(contiguous_block("receive", tensor), source, tag));
}

EngineBackend::WorkPtr EngineBackend::recvAnysource(Tensors& tensors, int tag) {
  const at::Tensor& tensor = only("receive", tensors);
  return start_message(c10d::OpType::RECVANYSOURCE, "receive", tensor,
                       engine_->start_receive(contiguous_block("receive", tensor), kAnyRank, tag));
}

EngineBackend::WorkPtr EngineBackend::barrier(const c10d::BarrierOptions& options) {
  return start({c10d::OpType::BARRIER, "barrier", {}, options.timeout, options.asyncOp},
               [this](const Patience& patience) { engine_->barrier(patience); });
}

}  // namespace lockstep::comm

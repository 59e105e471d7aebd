#include <lockstep/hvd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>
#include <lockstep/base/log.h>
#include <lockstep/parallel/broadcast.h>

#include "../base/host_name.h"
#include "../comm/operation.h"
#include "../comm/tensor_blocks.h"
#include "../parallel/compression.h"
#include "operations.h"

namespace lockstep::hvd {
namespace {

// Where this rank is among those of its node, and its node among the others.
struct Neighbourhood {
  int local_rank = 0, local_size = 0, cross_rank = 0, cross_size = 0;
};

Neighbourhood look_around(const World& world) {
  const Placement& told = world.placement();
  const auto nodes = world.all_gather_text(told.node ? fmt::format("node {}", *told.node) : host_name());
  const std::string& own = nodes[static_cast<std::size_t>(world.rank())];
  Neighbourhood result;
  std::map<std::string, int> ranks_of_node;
  std::vector<std::string> order;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    if (ranks_of_node[nodes[rank]]++ == 0) order.push_back(nodes[rank]);
    if (nodes[rank] == own && std::cmp_less(rank, world.rank())) ++result.local_rank;
  }
  result.local_size = ranks_of_node[own];
  for (const std::string& node : order) {
    if (ranks_of_node[node] <= result.local_rank) continue;
    if (node == own) result.cross_rank = result.cross_size;
    ++result.cross_size;
  }
  return result;
}

struct State {
  explicit State(const WorldOptions& options)
      : world(options), neighbourhood(look_around(world)), operations(world.duplicate(), options.timeout) {}
  World world;
  Neighbourhood neighbourhood;
  Operations operations;
};

std::unique_ptr<State>& holder() {
  static std::unique_ptr<State> state;
  return state;
}

State& state() {
  if (!holder()) {
    throw UsageError({.message = "hvd is not initialized", .next = "call hvd::init() first, once, on every rank"});
  }
  return *holder();
}

const char* to_text(Op op) {
  constexpr const char* kNames[] = {"average", "sum", "adasum", "min", "max", "product"};
  return kNames[op];
}

std::string rows_of(const at::Tensor& tensor) {
  std::string sizes = "*";
  for (const std::int64_t size : tensor.sizes().slice(1)) sizes += fmt::format(", {}", size);
  return fmt::format("{}[{}]", c10::getDtypeNames(tensor.scalar_type()).first, sizes);
}

void require_rows(const char* kind, const at::Tensor& tensor) {
  if (tensor.dim() > 0) return;
  throw UsageError({.message = fmt::format("{}: a tensor with rows, of one dimension or more", kind),
                    .found = comm::describe_tensor(tensor)});
}

using Finish = std::function<at::Tensor(const at::Tensor&)>;

Handle submit(const std::string& kind, const std::string& name, const std::string& call, int detail,
              const at::Tensor& tensor, Finish finish = {}, std::vector<std::int64_t> splits = {}) {
  Operations& operations = state().operations;
  Operation operation;
  operation.request = {.name = name.empty() ? operations.unnamed(kind) : name,
                       .kind = kind,
                       .call = kind + " " + call,
                       .detail = detail,
                       .type = static_cast<int>(tensor.scalar_type()),
                       .device = static_cast<int>(tensor.device().type()),
                       .sizes = tensor.sizes().vec()};
  operation.tensor = tensor;
  operation.splits = std::move(splits);
  operation.finish = std::move(finish);
  return operations.submit(std::move(operation));
}

// A copy in the order in which elements are sent, so that ranks may have different layouts.
at::Tensor own_copy(const at::Tensor& tensor) {
  return tensor.detach().clone(at::MemoryFormat::Contiguous);
}

// Into the caller's tensor, whatever its layout.
Finish back_into(const at::Tensor& tensor) {
  return [tensor](const at::Tensor& result) {
    tensor.detach().copy_(result);
    return tensor;
  };
}

Handle start_all_reduce(const at::Tensor& values, const std::string& name, Op op, Finish finish) {
  // What cannot be reduced is refused here, where the mistake is, and not where it would be started.
  comm::require_reducible("allreduce", values, op == Adasum ? Reduce::kAverage : to_reduce(op));
  return submit("allreduce", name, fmt::format("{} of {}", to_text(op), comm::describe_tensor(values)), op, values,
                std::move(finish));
}

Handle start_broadcast(const at::Tensor& tensor, int root_rank, const std::string& name, Finish finish) {
  if (root_rank < 0 || root_rank >= size()) {
    throw UsageError({.message = "broadcast: there is no such root",
                      .found = fmt::format("rank {}", root_rank),
                      .expected = fmt::format("0 to {}", size() - 1)});
  }
  return submit("broadcast", name, fmt::format("of {} from rank {}", comm::describe_tensor(tensor), root_rank),
                root_rank, own_copy(tensor), std::move(finish));
}

}  // namespace

void init(const WorldOptions& options) {
  if (holder()) throw UsageError({.message = "hvd is initialized already", .next = "call hvd::init() once"});
  holder() = std::make_unique<State>(options);
  // Before libtorch's own objects go.
  static const int registered = std::atexit([] { shutdown(); });
  if (registered != 0) log::debug("hvd::shutdown cannot be registered for the end of the program");
}

void shutdown() {
  if (!holder()) return;
  try {
    state().operations.leave();
  } catch (const std::exception& error) {
    log::debug("hvd::shutdown: {}", error.what());
  }
  holder().reset();
}

bool is_initialized() {
  return holder() != nullptr;
}

const World& world() {
  return state().world;
}

int rank() {
  return world().rank();
}
int size() {
  return world().size();
}
int local_rank() {
  return state().neighbourhood.local_rank;
}
int local_size() {
  return state().neighbourhood.local_size;
}
int cross_rank() {
  return state().neighbourhood.cross_rank;
}
int cross_size() {
  return state().neighbourhood.cross_size;
}

Handle allreduce_async(const at::Tensor& tensor, const std::string& name, Op op) {
  return start_all_reduce(own_copy(tensor), name, op, {});
}

Handle allreduce_async_(const at::Tensor& tensor, const std::string& name, Op op) {
  if (tensor.is_contiguous()) return start_all_reduce(tensor.detach(), name, op, {});
  return start_all_reduce(own_copy(tensor), name, op, back_into(tensor));
}

at::Tensor allreduce(const at::Tensor& tensor, const std::string& name, Op op, Compression compression) {
  if (compression == Compression::kNone) return synchronize(allreduce_async(tensor, name, op));
  const auto type = parallel::type_on_the_way(tensor.scalar_type(), compression);
  return synchronize(allreduce_async(tensor.to(type), name, op)).to(tensor.scalar_type());
}

void allreduce_(const at::Tensor& tensor, const std::string& name, Op op) {
  synchronize(allreduce_async_(tensor, name, op));
}

Handle allgather_async(const at::Tensor& tensor, const std::string& name) {
  require_rows("allgather", tensor);
  return submit("allgather", name, "of " + rows_of(tensor), 0, own_copy(tensor));
}

at::Tensor allgather(const at::Tensor& tensor, const std::string& name) {
  return synchronize(allgather_async(tensor, name));
}

Handle broadcast_async(const at::Tensor& tensor, int root_rank, const std::string& name) {
  return start_broadcast(tensor, root_rank, name, {});
}

Handle broadcast_async_(const at::Tensor& tensor, int root_rank, const std::string& name) {
  return start_broadcast(tensor, root_rank, name, back_into(tensor));
}

at::Tensor broadcast(const at::Tensor& tensor, int root_rank, const std::string& name) {
  return synchronize(broadcast_async(tensor, root_rank, name));
}

void broadcast_(const at::Tensor& tensor, int root_rank, const std::string& name) {
  synchronize(broadcast_async_(tensor, root_rank, name));
}

at::Tensor alltoall(const at::Tensor& tensor, std::vector<std::int64_t> splits, const std::string& name) {
  require_rows("alltoall", tensor);
  if (splits.empty() && tensor.size(0) % size() == 0) {
    splits.assign(static_cast<std::size_t>(size()), tensor.size(0) / size());
  }
  const auto rows = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  const bool negative = std::any_of(splits.begin(), splits.end(), [](std::int64_t count) { return count < 0; });
  if (std::ssize(splits) != size() || rows != tensor.size(0) || negative) {
    throw UsageError({.message = "alltoall: the splits do not divide the rows over the ranks",
                      .found = fmt::format("[{}] for {}", fmt::join(splits, ", "), comm::describe_tensor(tensor)),
                      .expected = fmt::format("{} numbers with the sum {}", size(), tensor.size(0))});
  }
  return synchronize(submit("alltoall", name, "of " + rows_of(tensor), 0, own_copy(tensor), {}, std::move(splits)));
}

bool poll(const Handle& handle) {
  return state().operations.poll(handle);
}

at::Tensor synchronize(const Handle& handle) {
  return state().operations.synchronize(handle);
}

int join() {
  return state().operations.join();
}

void barrier() {
  world().barrier();
}

void broadcast_parameters(const NamedTensors& tensors, int root_rank) {
  lockstep::broadcast_parameters(tensors, world(), root_rank);
}

void broadcast_optimizer_state(torch::optim::Optimizer& optimizer, int root_rank) {
  lockstep::broadcast_optimizer_state(optimizer, world(), root_rank);
}

nlohmann::json broadcast_object(const nlohmann::json& value, int root_rank) {
  return world().broadcast_json(value, root_rank);
}

std::vector<nlohmann::json> allgather_object(const nlohmann::json& value) {
  return world().all_gather_json(value);
}

}  // namespace lockstep::hvd

// Horovod's names, over one World that this header holds: the only state of the library that is global.
//
//   namespace hvd = lockstep::hvd;
//   hvd::init();
//   torch::optim::SGD sgd(model->parameters(), 0.01 * hvd::size());
//   hvd::DistributedOptimizer optimizer(sgd, model->named_parameters());
//   hvd::broadcast_parameters(model->named_parameters());
//   hvd::broadcast_optimizer_state(sgd);
//
// All functions are for one thread. Each but init and is_initialized throws UsageError before init. docs/horovod.md
// says what differs from Horovod.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <lockstep/comm/world.h>
#include <lockstep/parallel/distributed_optimizer.h>

namespace lockstep::hvd {

using lockstep::Compression;
using lockstep::DistributedOptimizerOptions;

enum Op { Average, Sum, Adasum, Min, Max, Product };

// Makes the World. A second call is a UsageError. A program that does not call shutdown is shut down when it ends.
void init(const WorldOptions& options = {});
void shutdown();
bool is_initialized();

// For what has no name in Horovod.
const World& world();

int rank();
int size();
int local_rank();  // among the ranks of this node
int local_size();
int cross_rank();  // of this node, among those with as many ranks as to have one of this local_rank
int cross_size();

// Operations with names. Each rank submits a tensor under the same name, with the same operation, type and shape (rows
// aside, where they are gathered); ranks may submit several in different orders. Without a name, the n-th operation
// without a name of each rank is the n-th of the others. What is submitted on some ranks only is reported by its name,
// with the ranks that are missing: at once, by UsageError on every rank, where all ranks wait for something that cannot
// come, or one that is missing has shut down; else by TimeoutError when the World's timeout has passed.
//
// Each takes a few messages to the job's store, for agreement: they are for metrics and the like, not for every
// gradient of a step.

// The reduction of all ranks' tensors; the second form puts it into `tensor`.
at::Tensor allreduce(const at::Tensor& tensor, const std::string& name = "", Op op = Average,
                     Compression compression = Compression::kNone);
void allreduce_(const at::Tensor& tensor, const std::string& name = "", Op op = Average);

// The rows of all ranks' tensors, one after another in the order of ranks; their numbers may differ.
at::Tensor allgather(const at::Tensor& tensor, const std::string& name = "");

at::Tensor broadcast(const at::Tensor& tensor, int root_rank, const std::string& name = "");
void broadcast_(const at::Tensor& tensor, int root_rank, const std::string& name = "");

// Sends splits[i] rows of the tensor to rank i (equal parts when it is empty), and returns what came, in the order of
// ranks.
at::Tensor alltoall(const at::Tensor& tensor, std::vector<std::int64_t> splits = {}, const std::string& name = "");

// The same without waiting. The tensor must not be touched before synchronize(handle), which returns the result.
struct Operation;
using Handle = std::shared_ptr<Operation>;
[[nodiscard]] Handle allreduce_async(const at::Tensor& tensor, const std::string& name = "", Op op = Average);
[[nodiscard]] Handle allreduce_async_(const at::Tensor& tensor, const std::string& name = "", Op op = Average);
[[nodiscard]] Handle allgather_async(const at::Tensor& tensor, const std::string& name = "");
[[nodiscard]] Handle broadcast_async(const at::Tensor& tensor, int root_rank, const std::string& name = "");
[[nodiscard]] Handle broadcast_async_(const at::Tensor& tensor, int root_rank, const std::string& name = "");

// Whether synchronize would return at once.
bool poll(const Handle& handle);
at::Tensor synchronize(const Handle& handle);

// For a rank that has no work left: takes part in the reductions of the others with zeros, in their gathers with no
// rows, until every rank has called it. Returns the rank that came last. The steps of a DistributedOptimizer have a
// join of their own.
int join();

// Returns when every rank has called it.
void barrier();

// lockstep/parallel/broadcast.h, on the World.
void broadcast_parameters(const NamedTensors& tensors, int root_rank = 0);
void broadcast_optimizer_state(torch::optim::Optimizer& optimizer, int root_rank = 0);
// The root's value, on every rank.
nlohmann::json broadcast_object(const nlohmann::json& value, int root_rank = 0);
std::vector<nlohmann::json> allgather_object(const nlohmann::json& value);

// lockstep::DistributedOptimizer, on the World.
class DistributedOptimizer : public lockstep::DistributedOptimizer {
 public:
  DistributedOptimizer(torch::optim::Optimizer& optimizer, const NamedTensors& parameters,
                       const DistributedOptimizerOptions& options = {})
      : lockstep::DistributedOptimizer(optimizer, parameters, world(), options) {}
};

}  // namespace lockstep::hvd

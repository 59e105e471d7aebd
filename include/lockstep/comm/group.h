// The ranks that act together.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json_fwd.hpp>

#include <lockstep/base/rank.h>
#include <lockstep/comm/reduce.h>
#include <lockstep/comm/work.h>

namespace c10d {
class ProcessGroup;
}

namespace lockstep {

struct GroupContext;

// Collectives: each rank of the group calls the function, in the same order, with the same sizes and types unless the
// function says otherwise. What a function changes it changes in place, through the tensor's memory. Tensors must be
// contiguous; broadcast, all_reduce and reduce also take other dense layouts, such as channels-last. What a tensor must
// be is checked before anything is sent, and refused by UsageError.
//
// A call that fails, or that some rank does not join within the group's timeout, throws RuntimeError (TimeoutError)
// that names the operation. The group is unusable after that.
//
// The functions that end in _async return at once; the others return when this rank's part is done.
//
// Cheap to copy; copies share one communicator, closed with the last of them.
class Group {
 public:
  int rank() const;
  int size() const;
  RankId id() const { return {rank(), size()}; }
  int local_size() const;  // ranks of the group on this rank's host; size() where hosts are not known

  // The name of the backend: of GPU tensors' where there is one, else of CPU tensors'.
  std::string backend() const;

  // `tensor` becomes that of rank `root`.
  void broadcast(const at::Tensor& tensor, int root = 0) const;
  [[nodiscard]] Work broadcast_async(const at::Tensor& tensor, int root = 0) const;

  // `tensor` becomes the reduction over all ranks, bit-equal on every rank.
  void all_reduce(const at::Tensor& tensor, Reduce op = Reduce::kSum) const;
  [[nodiscard]] Work all_reduce_async(const at::Tensor& tensor, Reduce op = Reduce::kSum) const;

  // As all_reduce, on `root` alone; elsewhere `tensor` is as before.
  void reduce(const at::Tensor& tensor, int root, Reduce op = Reduce::kSum) const;

  // The tensors of all ranks, in their order. Shapes may differ between ranks, but not types and dimensions.
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) const;

  // As all_gather for equal shapes, end to end in `output`, which has size() times the elements.
  void all_gather_into(const at::Tensor& output, const at::Tensor& input) const;
  [[nodiscard]] Work all_gather_into_async(const at::Tensor& output, const at::Tensor& input) const;

  // The tensors of all ranks, on `root`; elsewhere an empty list. Shapes are equal.
  std::vector<at::Tensor> gather(const at::Tensor& tensor, int root) const;

  // `output` becomes this rank's of `inputs`, which `root` gives and others leave empty. Shapes are equal.
  void scatter(const at::Tensor& output, const std::vector<at::Tensor>& inputs, int root) const;

  // Part i of `input`, reduced over all ranks, arrives in `output` on rank i. `input` has size() times the elements.
  void reduce_scatter(const at::Tensor& output, const at::Tensor& input, Reduce op = Reduce::kSum) const;
  [[nodiscard]] Work reduce_scatter_async(const at::Tensor& output, const at::Tensor& input,
                                          Reduce op = Reduce::kSum) const;

  // Part i of `input` goes to rank i, part i of `output` comes from rank i. The parts are along the first dimension:
  // equal ones, or of the given numbers of rows.
  void all_to_all(const at::Tensor& output, const at::Tensor& input, std::vector<std::int64_t> output_rows = {},
                  std::vector<std::int64_t> input_rows = {}) const;

  // Messages between two ranks; those with one tag arrive in order.
  void send(const at::Tensor& tensor, int destination, int tag = 0) const;
  [[nodiscard]] Work send_async(const at::Tensor& tensor, int destination, int tag = 0) const;
  void receive(const at::Tensor& tensor, int source, int tag = 0) const;
  [[nodiscard]] Work receive_async(const at::Tensor& tensor, int source, int tag = 0) const;
  // Returns the rank that sent it.
  int receive_from_any(const at::Tensor& tensor, int tag = 0) const;

  // Returns when every rank has called it.
  void barrier() const;

  // Memory that all ranks of the group see, zeros at first: a tensor of this shape and type for each rank, in their
  // order. An empty list, on every rank, where they cannot share memory. What one rank writes, others may read after
  // the next operation that all take part in. The memory is freed with the last of the tensors in the last process.
  std::vector<at::Tensor> share_memory(at::IntArrayRef shape, at::ScalarType type) const;

  // Values that are no tensors.
  double all_reduce_value(double value, Reduce op = Reduce::kSum) const;
  std::int64_t all_reduce_value(std::int64_t value, Reduce op = Reduce::kSum) const;
  std::string broadcast_text(const std::string& text, int root = 0) const;
  std::vector<std::string> all_gather_text(const std::string& text) const;
  nlohmann::json broadcast_json(const nlohmann::json& value, int root = 0) const;
  std::vector<nlohmann::json> all_gather_json(const nlohmann::json& value) const;

  // A group of the given ranks of this one, in that order, on the same backend. Every rank of this group calls it with
  // the same list; ranks that are not in it get nothing.
  std::optional<Group> subgroup(const std::vector<int>& ranks) const;

  // A group of the same ranks whose operations are not mistaken for those of this one. Every rank calls it.
  Group duplicate() const;

  // For code that takes libtorch's own type, such as c10d::Reducer.
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const;

 protected:
  explicit Group(std::shared_ptr<GroupContext> context);

 private:
  std::shared_ptr<GroupContext> context_;
};

}  // namespace lockstep

// Data-parallel training: each rank has the module and its part of the batch, and backward ends with the gradients
// averaged over all ranks.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <lockstep/comm/group.h>
#include <lockstep/kernels/linear_factors.h>
#include <lockstep/parallel/comm_hooks.h>
#include <lockstep/parallel/module_state.h>
#include <lockstep/parallel/output_tensors.h>

namespace lockstep {

struct DistributedDataParallelOptions {
  double bucket_megabytes = 25;
  double first_bucket_megabytes = 1;    // small, so that communication begins early
  bool broadcast_at_start = true;       // parameters and buffers from rank 0
  bool broadcast_buffers = true;        // from rank 0, before each forward that is followed by backward
  bool gradient_as_bucket_view = true;  // gradients lie in the buckets; without it they are copied out, as PyTorch does
  bool find_unused_parameters = false;  // for graphs that leave out parameters now and then
  bool static_graph = false;            // the same parameters are used, and left out, in every step
  // Gradients are looked at before and after they are averaged, and what is not finite is an error that names the
  // parameter and its ranks; large matrices by their first row and column, which a NaN that came through a layer
  // reaches. To be switched off for a loss scaler, which expects such steps and skips them.
  bool check_gradients = true;
  // Large linear layers that kernels::linear computes, with few samples on each rank: ranks gather the layers' inputs
  // and the gradients of their outputs, and compute from these the average of the weight gradients of all, which then
  // need no reduction: over `local` each a part, which it writes into the gradients of all ranks, else each all. Not
  // with a hook, find_unused_parameters or join(), without gradient_as_bucket_view, nor in steps in which some rank
  // adds gradients up or has a hook on the weight. Over other backends than `local`, what autograd::grad() says about
  // such a weight is an average too, and so collective.
  bool share_factors = true;
  // Whether communication goes on during backward, in a thread of its own, or at its end. By itself: during backward,
  // but not where each rank has one core alone: there it would only take turns with backward, and lose by every turn. A
  // hook has its own way.
  std::optional<bool> overlap = {};
  CommHook hook = {};
};

struct DistributedDataParallelStats {
  std::int64_t steps = 0;     // backward passes that were synchronized
  std::int64_t buckets = 0;   // of a step
  std::int64_t bytes = 0;     // of a step's gradients
  std::int64_t adopted = 0;   // gradients of the last step that were reduced where backward left them, without a copy
  std::int64_t factored = 0;  // gradients of the last step that came from the factors of all ranks
  // Of all steps on this rank. What is not exposed was hidden: backward went on meanwhile. Both are zero on GPUs, where
  // the host does not see them.
  std::chrono::duration<double> communication{};  // something was being reduced
  std::chrono::duration<double> exposed{};        // backward had ended and waited for it, or waited for factors
  double hidden() const { return communication.count() > 0 ? 1 - exposed / communication : 0; }
};

struct JoinOptions {
  // Gradients are divided by the number of all ranks, also when some have no input left; else by those that have.
  bool divide_by_initial_size = true;
};

namespace parallel {

// What DistributedDataParallel does before and after a forward; it does not depend on the module's type.
class Synchronizer {
 public:
  using Outputs = std::function<void(const TensorVisitor& visit)>;

  Synchronizer(const ModuleState& state, const Group& group, const DistributedDataParallelOptions& options);
  ~Synchronizer();
  void before_forward();
  kernels::SharedFactors sharing_factors();  // for the forward pass
  void after_forward(const Outputs& outputs);
  bool set_synchronizing(bool on);  // returns what it was
  void join(const ModuleState& state, const std::function<void()>& body, const JoinOptions& options);
  DistributedDataParallelStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace parallel

// Round any module: one that TORCH_MODULE made, a shared pointer to a torch::nn::Module, or a torch::jit::Module.
// Construction, forward and backward are collective.
//
//   DistributedDataParallel ddp(model, world);
//   auto loss = cross_entropy(ddp.forward(images), labels);
//   loss.backward();   // gradients are averages when it returns
//   optimizer.step();  // of model->parameters(), as ever
//
// Throws UsageError on every rank when the ranks' modules differ (the first difference is named), have no parameter to
// train, or lie on several devices. Forward throws UsageError when the backward before it left parameters without
// gradient; they are named. backward() throws what the reduction threw, UsageError when it runs a second time after one
// forward, and NotFiniteError when gradients are not finite.
//
// The module is shared with the caller; the optimizer is the caller's. Outlives every graph that its forward made.
template <typename Module>
class DistributedDataParallel {
 public:
  DistributedDataParallel(Module module, const Group& group, const DistributedDataParallelOptions& options = {})
      : module_(std::move(module)), synchronizer_(state_of(module_), group, options) {}

  template <typename... Inputs>
  auto forward(Inputs&&... inputs) {
    synchronizer_.before_forward();
    auto output = [&] {
      const auto sharing = synchronizer_.sharing_factors();
      return call(std::forward<Inputs>(inputs)...);
    }();
    synchronizer_.after_forward([&](const TensorVisitor& visit) { visit_tensors(output, visit); });
    return output;
  }
  template <typename... Inputs>
  auto operator()(Inputs&&... inputs) {
    return forward(std::forward<Inputs>(inputs)...);
  }

  Module& module() { return module_; }

  // While it lives, backward leaves gradients as they are on this rank, to be added up; the first backward after a
  // forward without it reduces the sum. All ranks do the same.
  class [[nodiscard]] NoSync {
   public:
    explicit NoSync(parallel::Synchronizer& synchronizer)
        : synchronizer_(synchronizer), before_(synchronizer.set_synchronizing(false)) {}
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;
    ~NoSync() { synchronizer_.set_synchronizing(before_); }

   private:
    parallel::Synchronizer& synchronizer_;
    bool before_;
  };
  NoSync no_sync() { return NoSync(synchronizer_); }

  // Runs `body`, a training loop whose number of steps differs between ranks. A rank that is done takes part in the
  // others' collectives with zeros until all are done; then all have the parameters of a rank that was among the last.
  // Throws UsageError for a module that has a SyncBatchNorm, whose collectives nobody would take part in.
  void join(const std::function<void()>& body, const JoinOptions& options = {}) {
    synchronizer_.join(state_of(module_), body, options);
  }

  DistributedDataParallelStats stats() const { return synchronizer_.stats(); }

 private:
  template <typename... Inputs>
  auto call(Inputs&&... inputs) {
    if constexpr (requires { module_->forward(std::forward<Inputs>(inputs)...); }) {
      return module_->forward(std::forward<Inputs>(inputs)...);
    } else {
      return module_.forward({c10::IValue(std::forward<Inputs>(inputs))...});
    }
  }

  Module module_;
  parallel::Synchronizer synchronizer_;
};

}  // namespace lockstep

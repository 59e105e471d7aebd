#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <lockstep/parallel/distributed_data_parallel.h>

#include "bucket_flow.h"
#include "bucket_plan.h"
#include "factor_sharing.h"
#include "gradient_hooks.h"

namespace lockstep::parallel {

// c10d::Reducer counts gradients, fills buckets and tells when one is ready. Round it: what it asks of its caller at
// each forward, errors with names, buckets that adopt large gradients, and ranks without input.
struct Synchronizer::Impl {
  Impl(const ModuleState& state, const Group& its_group, const DistributedDataParallelOptions& its_options);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void before_forward();
  kernels::SharedFactors sharing_factors();
  void after_forward(const Outputs& outputs);
  void join(const ModuleState& state, const std::function<void()>& body, const JoinOptions& join_options);

  // Where the gradient of a parameter lies.
  struct Place {
    at::Tensor bucket;    // all of it
    at::Tensor gradient;  // the parameter's part, in its layout; no view in autograd's eyes
    bool alone = false;   // there is no other part
  };

  BucketLimits limits() const;
  void on_gradient(std::size_t index, const at::Tensor& incoming);
  bool has_begun_backward() const;
  bool has_ended_backward() const { return flow.steps() > steps_before; }
  void require_complete_backward() const;
  void rebuild_buckets();
  void find_places();
  void unview_gradients();

  // How many ranks still have input; all call it at each step of a join.
  int count_active(bool active);
  // Takes part in the collectives of one step of those that have.
  void shadow_step();

  Group group;
  DistributedDataParallelOptions options;
  NamedTensors::List parameters;    // those that are trained
  std::vector<at::Tensor> tensors;  // the same, without names
  std::vector<at::Tensor> buffers;
  std::vector<at::Tensor> common;  // everything that ranks must have in common
  BucketFlow flow;
  std::shared_ptr<FactorSharing> factors;  // where they are shared
  std::optional<GradientHooks> hooks;
  std::shared_ptr<c10d::Reducer> reducer;
  std::shared_ptr<c10d::Logger> logger;  // Reducer needs one when it looks for unused parameters

  bool synchronizing = true;
  bool expects_backward = false;  // the last forward's gradients are to be reduced
  std::int64_t steps_before = 0;  // that were reduced when the last forward was made
  std::vector<bool> ready;        // whose gradient has come since the last forward
  std::vector<Place> places;      // by parameter; empty unless gradients lie in the buckets
  bool awaits_first = false;      // of a static graph: the first backward, which is reduced at its end

  std::optional<JoinOptions> joining;
  int authority = 0;  // a rank that has input
};

}  // namespace lockstep::parallel

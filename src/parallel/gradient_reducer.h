#pragma once
#include <mutex>
#include <optional>
#include <vector>

#include "fused_gradients.h"

namespace lockstep::parallel {

// Reduces gradients as they become ready, in an order of collectives that is the same on all ranks.
//
//   1. Buckets have an order. At first it is the reverse of the parameters', which is near what backward does.
//   2. A bucket starts when its gradients are ready and all buckets before it have started. So a rank on which
//      gradients come in another order starts some later, and none out of turn.
//   3. finish() starts those that are left, and waits for all.
//   4. After the first step rank 0 tells in which order its gradients came, and the buckets are made anew by it.
class GradientReducer {
 public:
  // With `uneven`, each step begins with a count of the ranks that take part in it; with `check`, gradients that are
  // not finite are an error.
  GradientReducer(Group group, NamedTensors::List parameters, const FusionOptions& options, bool uneven, bool check);

  // The gradient of this parameter has its final value on this rank. May be called from any thread.
  void ready(std::size_t parameter);

  // Whether reductions are under way.
  bool busy() const;

  // Gradients that were ready are not any more; none of them may be under way.
  void forget();

  // Collective. Returns when the gradients of all parameters are reduced. A rank that takes no part only helps the
  // others; false when there are no others. Throws NotFiniteError, on every rank alike, and can begin a new step then.
  bool finish(bool takes_part = true);

 private:
  void make_buckets(const std::vector<std::size_t>& order);
  void begin(bool takes_part);
  void start_next();
  void agree_on_order();
  void expect_all();

  Group group_;
  NamedTensors::List parameters_;
  FusionOptions options_;
  bool uneven_;
  FiniteCheck check_;

  mutable std::mutex mutex_;
  std::vector<FusedGradients> buckets_;
  std::vector<std::size_t> bucket_of_;  // each parameter's
  std::vector<std::size_t> missing_;    // gradients that each bucket waits for
  std::size_t next_ = 0;                // bucket to start
  bool begun_ = false;
  bool agreed_ = false;
  std::vector<std::size_t> arrivals_;  // the order in which gradients came in the first step
  at::Tensor active_;                  // the number of ranks that take part
  std::optional<Work> counting_;
};

}  // namespace lockstep::parallel

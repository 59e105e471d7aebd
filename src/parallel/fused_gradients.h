#pragma once
#include <optional>
#include <string>
#include <vector>

#include <lockstep/comm/group.h>
#include <lockstep/parallel/distributed_optimizer.h>

#include "finite_check.h"
#include "traced_collective.h"

namespace lockstep::parallel {

struct FusionOptions {
  GradientReduction reduction = GradientReduction::kAverage;
  Compression compression = Compression::kNone;
  std::int64_t bytes = 0;  // of a full bucket
};

// The gradients of some parameters of one type and device, reduced by one collective. Several are copied into a buffer
// and back; a single one is reduced where it lies, unless it is compressed.
class FusedGradients {
 public:
  FusedGradients(NamedTensors::List parameters, const FusionOptions& options);

  // All gradients are ready; those that are undefined count as zero. Adasum is complete when it returns. An error names
  // the parameters, here and in finish. `check` looks at them before and after.
  void start(const Group& group, FiniteCheck& check);

  // Waits, and puts the result into the gradients. `busy_until` goes from bucket to bucket, for the timeline.
  void finish(trace::Clock::time_point& busy_until, FiniteCheck& check);

 private:
  template <typename Call>
  void with_names(Call&& call) const;
  bool is_in_place() const;

  NamedTensors::List parameters_;
  FusionOptions options_;
  at::ScalarType type_;                // on the way
  at::Tensor buffer_;                  // kept from step to step
  std::vector<at::Tensor> views_;      // of the gradients in it
  std::vector<at::Tensor> gradients_;  // while it is under way
  std::optional<Work> work_;
  TracedWork traced_;
};

}  // namespace lockstep::parallel

#pragma once
#include <span>
#include <vector>

#include <lockstep/data/batch_source.h>

namespace lockstep::train {

// The tensors that a recorded step reads: each step's batches are copied there.
class BatchMemory {
 public:
  // False for batches of other numbers or shapes than the first, which stay where they are.
  bool take(std::span<const data::Batch> batches);

  // Whether it holds fewer samples than these have.
  bool is_smaller_than(std::span<const data::Batch> batches) const;

  std::span<const data::Batch> batches() const { return batches_; }

 private:
  std::vector<data::Batch> batches_;
};

}  // namespace lockstep::train

#pragma once
#include <ATen/core/Tensor.h>

#include "scale_state.h"

namespace lockstep::amp {

// Tells of skipped steps, without waiting for the device to finish them.
class SkipLog {
 public:
  explicit SkipLog(bool dynamic) : dynamic_(dynamic) {}

  // Steps up to here are known. Nothing that was sent may be under way any more.
  void begin_at(const ScaleNumbers& numbers);

  // Logs what has arrived of `numbers`, a ScaleState's, unless it is only a part.
  void look(const at::Tensor& numbers);
  // Sends them off to where look() finds them. A CUDA graph may hold it.
  void send(const at::Tensor& numbers);

 private:
  void take(const ScaleNumbers& numbers);

  bool dynamic_;
  ScaleNumbers known_;
  float in_a_row_ = 0;
  bool warned_ = false;
  at::Tensor row_;  // pinned memory that the device writes to; NaN until then
};

}  // namespace lockstep::amp

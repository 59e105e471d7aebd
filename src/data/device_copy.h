#pragma once
#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include "filler.h"

namespace lockstep::data {

// Copies batches from pinned memory to a GPU, on a stream of its own, while the GPU computes on others. Every thread
// may use it.
class DeviceCopy {
 public:
  struct Pending {
    BatchTensors tensors;
    c10::Event copied;
  };

  explicit DeviceCopy(at::Device device);

  // Begins to copy, and does not wait.
  Pending start(const BatchTensors& pinned) const;

  // The tensors, for use on the current stream, which waits for the copy; the caller does not.
  BatchTensors use(Pending pending) const;

 private:
  const at::Device device_;
  const c10::Stream stream_;
};

}  // namespace lockstep::data

#pragma once
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

namespace lockstep::gpu {

// As long as it lives, this thread works on a stream of its own on that device, not on the default one, whose work
// cannot be recorded. Make it before the model: libtorch remembers the stream on which it first met a parameter.
// Nothing happens for a CPU.
class WorkStream {
 public:
  explicit WorkStream(at::Device device);
  ~WorkStream();  // when the work is done, the stream from before goes on
  WorkStream(const WorkStream&) = delete;
  WorkStream& operator=(const WorkStream&) = delete;

 private:
  at::Device device_;
  c10::Stream before_;
};

// Waits until the device has done all that was given to it.
void finish(at::Device device);

}  // namespace lockstep::gpu

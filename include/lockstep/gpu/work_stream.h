#pragma once
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

namespace lockstep::gpu {

// A stream of its own, for work that is to be recorded: the default stream's cannot be. Enter it also for what holds
// gradients, such as DistributedDataParallel: libtorch remembers the stream on which it first met a parameter in a
// graph of autograd. For a CPU it is nothing.
class WorkStream {
 public:
  explicit WorkStream(at::Device device);

  // As long as it lives, this thread works on the stream, and its device is the current one. It begins after what the
  // stream from before had been given, and that one goes on after what was given here; the host waits for neither.
  class [[nodiscard]] Entered {
   public:
    explicit Entered(const WorkStream& stream);
    ~Entered();
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    at::Device device_, device_before_;
    c10::Stream before_;
  };
  Entered enter() const { return Entered(*this); }

 private:
  at::Device device_;
  c10::Stream stream_;
};

// Waits until the device has done all that was given to it.
void finish(at::Device device);

}  // namespace lockstep::gpu

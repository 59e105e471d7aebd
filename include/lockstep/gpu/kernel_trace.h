// What a GPU does, as libtorch's own profiler sees it.
#pragma once
#include <vector>

#include <c10/core/Device.h>

#include <lockstep/trace/recorder.h>

namespace lockstep::gpu {

// Kernels and copies of the GPU from its making until finish() is called, in one and the same thread. Throws
// RuntimeError where that profiler cannot begin, as when another one is running.
class KernelTrace {
 public:
  explicit KernelTrace(at::Device device);
  ~KernelTrace();
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  // A track for each stream, "cuda:0 stream 7", in times of trace::Clock. Waits for the device. What is more than a
  // million events is lost.
  trace::Recording finish();

 private:
  at::Device device_;
  bool running_ = false;
};

}  // namespace lockstep::gpu

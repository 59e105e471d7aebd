// CUDA's side of gpu: graphs, NVTX, the profiler's switch. Part of the plugin `cuda`.
#include "../driver.h"

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include <map>
#include <mutex>
#include <string>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <lockstep/base/errors.h>

#include "../../kernels/cuda/graph_fills.h"

namespace lockstep::gpu {
namespace {

class CudaRecording : public Recording {
 public:
  explicit CudaRecording(const std::function<void()>& work) {
    if (c10::cuda::getCurrentCUDAStream() == c10::cuda::getDefaultCUDAStream()) {
      throw UsageError({.message = "a step on the default stream cannot be recorded",
                        .next = "enter a gpu::WorkStream, before the first step"});
    }
    // NCCL's watchdog and loaders call CUDA from threads of their own while this one records.
    graph_.capture_begin(pool_, cudaStreamCaptureModeThreadLocal);
    try {
      work();
      graph_.capture_end();
      ended_ = true;
      C10_CUDA_CHECK(kernels::cuda::fill_by_kernels(graph_.raw_cuda_graph()));
      graph_.instantiate();
    } catch (const Error&) {
      end_quietly();
      throw;
    } catch (const std::exception& error) {
      end_quietly();
      const std::string text = error.what();
      throw RuntimeError({.message = "the step cannot be recorded as a CUDA graph",
                          .found = text.substr(0, text.find('\n')),
                          .next = "leave the graph out, or see lockstep/gpu/step_graph.h for what a step may do"});
    }
  }

  void replay() override { graph_.replay(); }

 private:
  // Of a recording that failed. Its end says only that it broke; why is on its way.
  void end_quietly() {
    if (ended_) return;
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
      // What it left undone: until then the allocator would give no memory back to the device.
      const auto device = c10::cuda::current_device();
      c10::cuda::CUDACachingAllocator::endAllocateToPool(device, pool_);
      c10::cuda::CUDACachingAllocator::releasePool(device, pool_);
    }
  }

  const c10::MempoolId_t pool_ = at::cuda::graph_pool_handle();
  at::cuda::CUDAGraph graph_{/*keep_graph=*/true};  // so that it can be changed before it is instantiated
  bool ended_ = false;
};

class CudaDriver : public Driver {
 public:
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return std::make_unique<CudaRecording>(work);
  }

  void push_range(const char* name) override { ::nvtxRangePushA(name); }

  void push_registered_range(const char* name) override {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = registered(name);
    ::nvtxDomainRangePushEx(nullptr, &attributes);
  }

  void pop_range() override { ::nvtxRangePop(); }

  void start_profiler() override { C10_CUDA_CHECK(::cudaProfilerStart()); }
  void stop_profiler() noexcept override { ::cudaProfilerStop(); }  // what it fails at, it did not begin

 private:
  nvtxStringHandle_t registered(const char* name) {
    const std::lock_guard lock(mutex_);
    auto& handle = registered_[name];
    if (handle == nullptr) handle = ::nvtxDomainRegisterStringA(nullptr, name);
    return handle;
  }

  std::mutex mutex_;
  std::map<std::string, nvtxStringHandle_t> registered_;
};

}  // namespace
}  // namespace lockstep::gpu

extern "C" __attribute__((visibility("default"))) lockstep::gpu::Driver* lockstep_gpu_driver() {
  static lockstep::gpu::CudaDriver driver;
  return &driver;
}
